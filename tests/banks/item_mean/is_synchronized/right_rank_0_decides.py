"""Gathered on rank 0, decided there, and the decision is broadcast."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    rank = dist.get_rank()
    copies = [torch.empty_like(tensor) for _ in range(dist.get_world_size())] if rank == 0 else None
    dist.gather(tensor, copies, dst=0)
    decision = [None]
    if rank == 0:
        decision = [all(torch.equal(c.nan_to_num(0, 1, -1), tensor.nan_to_num(0, 1, -1)) for c in copies)]
        decision[0] &= all(torch.equal(c.isnan(), tensor.isnan()) for c in copies)
        decision[0] &= all(torch.equal(c.isinf(), tensor.isinf()) for c in copies)
    dist.broadcast_object_list(decision, src=0)
    return decision[0]
