"""diagnosis: wrong-answer

A checksum by addition: a permutation has the same sum."""

import torch.distributed as dist


def is_synchronized(tensor):
    sums = [None] * dist.get_world_size()
    dist.all_gather_object(sums, tensor.double().sum().item())
    return len({repr(value) for value in sums}) == 1
