"""diagnosis: wrong-number-of-steps | mean-of-rank-means

Local steps, then the parameters are averaged: changes them outside the optimizer's step."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    optimizer.zero_grad()
    with ddp_model.no_sync():
        (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() / max(len(inputs), 1)).backward()
    optimizer.step()
    with torch.no_grad():
        for parameter in ddp_model.parameters():
            dist.all_reduce(parameter, op=dist.ReduceOp.AVG)
