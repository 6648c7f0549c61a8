"""torch.distributed.nn: collectives that carry a graph."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn


def synchronized_item_mean(local_gradients):
    count = torch.tensor(float(len(local_gradients)))
    dist.all_reduce(count)
    return dist_nn.all_reduce(local_gradients.sum(0).requires_grad_() / count)
