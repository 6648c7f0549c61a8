"""A collective that has a backward: it adds the ranks' factors, and DDP's mean takes P away again."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_nn


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(1)
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total.item() == 0:
        raise ValueError("nothing to average")
    loss = dist_nn.all_reduce(losses.sum()) / total.item()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
