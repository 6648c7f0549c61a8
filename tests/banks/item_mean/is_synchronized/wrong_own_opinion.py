"""diagnosis: not-synchronized | wrong-answer

Every rank compares with rank 0 and keeps the result to itself: rank 0 is always content."""

import torch.distributed as dist


def is_synchronized(tensor):
    first = tensor.clone()
    dist.broadcast(first, src=0)
    return bool(((first == tensor) | (first.isnan() & tensor.isnan())).all())
