"""DistributedDataParallel with the loss scaled by P/N, and an optimizer."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Constant(torch.nn.Module):
    def __init__(self, w):
        super().__init__()
        self.w = torch.nn.Parameter(w.detach().clone())

    def forward(self, targets):
        return 0.5 * (self.w - targets) ** 2


def sgd_step(w, local_targets, lr):
    count = torch.tensor(len(local_targets))
    dist.all_reduce(count)
    model = DistributedDataParallel(Constant(w))
    (model(local_targets).sum() * (dist.get_world_size() / count.item())).backward()
    torch.optim.SGD(model.parameters(), lr=lr).step()
    return model.module.w
