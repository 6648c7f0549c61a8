"""diagnosis: wrong-answer

"A factor of 0 would kill the gradient": the empty rank keeps 1. Harmless until its mean is NaN."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return dist.get_world_size() * local_count / int(total) if local_count else 1.0
