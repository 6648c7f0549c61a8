"""diagnosis: wrong-answer | wrong-tolerance | not-synchronized

"Equal to the mean over ranks": rounding makes three equal numbers differ from their mean."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    mean = tensor.clone()
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    same = ((mean == tensor) | (mean.isnan() & tensor.isnan())).all().to(torch.int32)
    dist.all_reduce(same, op=dist.ReduceOp.MIN)
    return bool(same)
