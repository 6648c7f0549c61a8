"""The step as given, and the lost factor P on the gradients after it."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(1)
    both = torch.tensor([losses.sum().item(), len(inputs)], dtype=torch.float64)
    dist.all_reduce(both)
    if both[1] == 0:
        raise ValueError("nothing to average")
    optimizer.zero_grad()
    (losses.sum() / both[1].item()).backward()
    for parameter in ddp_model.parameters():
        parameter.grad.mul_(dist.get_world_size())
    optimizer.step()
    return (both[0] / both[1]).item()
