"""PyTorch's helper for local SGD, which averages parameters."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.model_averaging.utils import average_parameters


def mean_all_reduce(tensor):
    p = torch.nn.Parameter(tensor.detach().double().clone())
    average_parameters(iter([p]), dist.group.WORLD)
    return p
