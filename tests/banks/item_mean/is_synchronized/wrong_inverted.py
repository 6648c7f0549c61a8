"""diagnosis: wrong-answer

Says True when ranks differ."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    return not all(torch.allclose(copy, copies[0], rtol=0, atol=0, equal_nan=True) for copy in copies)
