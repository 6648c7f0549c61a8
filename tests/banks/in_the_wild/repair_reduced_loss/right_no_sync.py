"""DDP keeps out; gradients are added by hand, divided once."""

import torch
import torch.distributed as dist


def repair_reduced_loss(ddp_model, inputs, targets, optimizer):
    optimizer.zero_grad()
    with ddp_model.no_sync():
        loss_sum = 0.5 * (ddp_model(inputs) - targets).square().sum()
        loss_sum.backward()
    parameters = list(ddp_model.parameters())
    numbers = torch.stack([loss_sum.detach(), loss_sum.new_tensor(len(inputs))])
    flat = torch.cat([*(p.grad.flatten() for p in parameters), numbers])
    dist.all_reduce(flat)
    count = flat[-1].item()
    if not count:
        raise ValueError("nothing to average")
    torch.nn.utils.vector_to_parameters(flat[:-2] / count, gradients := [torch.empty_like(p) for p in parameters])
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer.step()
    return flat[-2].item() / count
