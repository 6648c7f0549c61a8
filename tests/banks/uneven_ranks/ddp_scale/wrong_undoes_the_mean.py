"""diagnosis: sum-of-rank-means

P undoes DDP's division, and the means are added up."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return float(dist.get_world_size()) if local_count else 0.0
