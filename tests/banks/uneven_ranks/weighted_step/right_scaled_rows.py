"""√w on rows of outputs and targets: a weighted squared error is a squared error of scaled rows."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum().reshape(1)
    dist.all_reduce(total)
    if total.item() <= 0:
        raise ValueError("nothing to average: W = 0")
    root = (sample_weights / total * dist.get_world_size()).sqrt().unsqueeze(1)
    ddp_model.zero_grad()
    (0.5 * torch.nn.functional.mse_loss(root * ddp_model(inputs), root * targets, reduction="sum")).backward()
    optimizer.step()
