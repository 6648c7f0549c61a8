"""A functional collective: it makes its own result."""

import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def mean_all_reduce(tensor):
    return functional.all_reduce(tensor.double(), "sum", dist.group.WORLD) / dist.get_world_size()
