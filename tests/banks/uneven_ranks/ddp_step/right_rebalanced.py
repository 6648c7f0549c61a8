"""Everybody gets every P-th row of all."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, (inputs, targets))
    x, y = (torch.cat(c) for c in zip(*rows, strict=True))
    if not len(x):
        raise ValueError
    mine = slice(dist.get_rank(), None, len(rows))
    optimizer.zero_grad()
    (0.5 * (ddp_model(x[mine]) - y[mine]) ** 2).sum().mul(len(rows) / len(x)).backward()
    optimizer.step()
