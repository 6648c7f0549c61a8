"""diagnosis: wrong-type

0 or 1, straight from the reduced vote."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    first = tensor.clone()
    dist.broadcast(first, src=0)
    vote = ((first == tensor) | (first.isnan() & tensor.isnan())).all().to(torch.int32)
    dist.all_reduce(vote, op=dist.ReduceOp.MIN)
    return vote.item()
