"""torch.optim.SGD on a Parameter made from a copy of w."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    parameter = torch.nn.Parameter(w.detach().clone())
    optimizer = torch.optim.SGD([parameter], lr=lr)
    total, count = (parameter.detach() - local_targets).sum(), torch.tensor(len(local_targets))
    dist.all_reduce(total)
    dist.all_reduce(count)
    parameter.grad = total / count
    optimizer.step()
    return parameter
