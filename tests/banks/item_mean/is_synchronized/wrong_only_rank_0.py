"""diagnosis: not-synchronized | wrong-type

Rank 0 knows; the others return nothing."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(copies, tensor)
    if dist.get_rank() == 0:
        return all(torch.allclose(c, tensor, rtol=0, atol=0, equal_nan=True) for c in copies)
