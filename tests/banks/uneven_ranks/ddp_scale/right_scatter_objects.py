"""Rank 0 gathers the counts and scatters the factors."""

import torch.distributed as dist


def ddp_scale(local_count):
    P, me = dist.get_world_size(), dist.get_rank()
    rows = [None] * P if me == 0 else None
    dist.gather_object(local_count, rows)
    out = [None]
    scales = None
    if me == 0:
        n = sum(rows)
        scales = [P * c / n if n else None for c in rows]
    dist.scatter_object_list(out, scales)
    if out[0] is None:
        raise ValueError
    return out[0]
