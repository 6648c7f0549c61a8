"""The Jacobian of the local losses, summed over its rows."""

import torch
import torch.distributed as dist
from torch.func import functional_call, jacrev


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError("no item")
    module = ddp_model.module

    def loss(values):
        return 0.5 * (functional_call(module, values, (inputs,)) - targets).square().sum()

    gradients = jacrev(loss)({name: p.detach() for name, p in module.named_parameters()})
    for name, p in module.named_parameters():
        p.grad = gradients[name].clone()
        dist.all_reduce(p.grad)
        p.grad /= total
    optimizer.step()
