"""diagnosis: deadlock

An empty rank knows that its factor is 0 and returns at once; the others wait for its count."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    if local_count == 0:
        return 0.0
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    return dist.get_world_size() * local_count / int(total)
