"""diagnosis: wrong-type

A 0-d tensor of bool is not a bool."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(copies, tensor)
    rows = torch.stack(copies)
    return ((rows == rows[0]) | (rows.isnan() & rows[0].isnan())).all()
