"""diagnosis: forbidden-operation

A functional collective that averages."""

import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def mean_all_reduce(tensor):
    return functional.all_reduce(tensor.double(), "avg", dist.group.WORLD)
