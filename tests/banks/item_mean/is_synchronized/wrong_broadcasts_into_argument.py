"""diagnosis: changed-its-argument | wrong-answer

Broadcasts over the caller's tensor, which then equals itself."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    before = tensor
    dist.broadcast(tensor, src=0)
    same = torch.tensor(int(((before == tensor) | (before.isnan() & tensor.isnan())).all()))
    dist.all_reduce(same, op=dist.ReduceOp.MIN)
    return bool(same)
