"""diagnosis: deadlock

A rank that sees a difference returns at once, before the vote that the others wait in."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    first = tensor.clone()
    dist.broadcast(first, src=0)
    if not bool(((first == tensor) | (first.isnan() & tensor.isnan())).all()):
        return False
    vote = torch.tensor(1)
    dist.all_reduce(vote, op=dist.ReduceOp.MIN)
    return bool(vote)
