"""diagnosis: wrong-exception

0/0 raises ZeroDivisionError, which nobody expects as a word for an empty window."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    return dist.get_world_size() * local_count / total.item()
