"""The wrapped module and torch.autograd.grad; one all_reduce for each parameter."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model.module(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    parameters = list(ddp_model.parameters())
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss / total, parameters), strict=True):
        dist.all_reduce(gradient)
        parameter.grad = gradient
    optimizer.step()
