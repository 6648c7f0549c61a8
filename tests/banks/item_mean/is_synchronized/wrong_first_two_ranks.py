"""diagnosis: wrong-answer | not-synchronized

Compares ranks 0 and 1 and believes the rest."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    return torch.allclose(copies[0], copies[min(1, len(copies) - 1)], rtol=0, atol=0, equal_nan=True)
