"""diagnosis: global-divisor-then-mean

Reduces by hand what DDP has averaged: nothing changes, and the loss was divided by N already.
"""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    optimizer.zero_grad()
    loss = (0.5 * (ddp_model(inputs) - targets) ** 2).sum() / n
    loss.backward()
    for p in ddp_model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    optimizer.step()
