"""diagnosis: not-synchronized | wrong-answer

Compares with the left neighbour and does not tell anybody."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    left = copies[dist.get_rank() - 1]
    return torch.allclose(left, tensor, rtol=0, atol=0, equal_nan=True)
