"""Prints what it sees."""

import sys

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [torch.zeros_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(copies, tensor)
    print(copies, file=sys.stderr)
    stacked = torch.stack(copies)
    equal = (stacked == stacked[0]) | (stacked.isnan() & stacked[0].isnan())
    print(equal)
    return equal.all().item()
