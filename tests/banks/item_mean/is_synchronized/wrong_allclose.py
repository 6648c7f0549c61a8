"""diagnosis: wrong-tolerance | wrong-answer

Nearly equal is not equal: replicas that differ in the last bits drift apart."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    return all(torch.allclose(copy, copies[0], equal_nan=True) for copy in copies)
