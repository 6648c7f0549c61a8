"""diagnosis: wrong-answer | nan-or-inf

torch.equal says that NaN differs from NaN; here NaN on all ranks is the same on all."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    return all(torch.equal(copy, copies[0]) for copy in copies)
