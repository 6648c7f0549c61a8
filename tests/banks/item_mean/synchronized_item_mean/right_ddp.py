"""DistributedDataParallel averages the gradient of ⟨θ, Σ gᵢ⟩·P/N over the ranks: that is the item mean."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Dot(torch.nn.Module):
    def __init__(self, like):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.zeros_like(like))

    def forward(self, vector):
        return (self.theta * vector).sum()


def synchronized_item_mean(local_gradients):
    count = torch.tensor(len(local_gradients))
    dist.all_reduce(count)
    total = local_gradients.detach().sum(0)
    model = DistributedDataParallel(Dot(total))
    (model(total) * dist.get_world_size() / count).backward()
    return model.module.theta.grad
