"""diagnosis: never-divided

Makes a sum out of the mean and undoes DDP's division, and nobody divides by N."""

import torch.distributed as dist


def ddp_scale(local_count):
    return float(local_count * dist.get_world_size())
