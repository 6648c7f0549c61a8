"""diagnosis: raised | overflow-or-truncation | wrong-answer

An int32 count, which cannot hold three billion items."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count, dtype=torch.int32)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return dist.get_world_size() * local_count / int(total)
