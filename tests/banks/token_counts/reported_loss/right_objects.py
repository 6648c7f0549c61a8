"""Gathers both numbers as objects."""

import math

import torch.distributed as dist


def reported_loss(local_loss_sum, local_count):
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, (float(local_loss_sum), local_count))
    sums, counts = zip(*everyone, strict=True)
    if sum(counts) == 0:
        raise ValueError("no token")
    return math.fsum(sums) / sum(counts)
