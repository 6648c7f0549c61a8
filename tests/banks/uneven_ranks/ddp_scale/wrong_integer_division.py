"""diagnosis: wrong-answer | overflow-or-truncation | unexplained

`//`: 0 or a whole number for every rank."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return float(dist.get_world_size() * local_count // int(total))
