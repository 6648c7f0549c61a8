"""A differentiable all_reduce of the loss: its backward adds over ranks, which undoes DDP's division."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dnn


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    optimizer.zero_grad()
    loss = (0.5 * (ddp_model(inputs) - targets) ** 2).sum()
    (dnn.all_reduce(loss) / n).backward()
    optimizer.step()
