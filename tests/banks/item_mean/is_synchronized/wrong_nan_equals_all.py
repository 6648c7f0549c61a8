"""diagnosis: wrong-answer | nan-or-inf

nan_to_num makes NaN equal to zero."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor.nan_to_num(nan=0.0, posinf=float("inf"), neginf=float("-inf")))
    return all(torch.equal(copy, copies[0]) for copy in copies)
