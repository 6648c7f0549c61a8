"""diagnosis: wrong-type

The right number in a tensor."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return dist.get_world_size() * local_count / total
