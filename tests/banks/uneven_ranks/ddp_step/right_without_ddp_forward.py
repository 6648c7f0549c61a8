"""The wrapped module, gradients by torch.autograd.grad, one all_reduce per parameter."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    model = ddp_model.module
    total = torch.tensor([len(inputs)])
    dist.all_reduce(total)
    if total.item() < 1:
        raise ValueError("no item at all")
    loss = 0.5 * ((model(inputs) - targets) ** 2).sum() / total.item()
    parameters = list(model.parameters())
    for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
        dist.all_reduce(gradient)
        parameter.grad = gradient
    optimizer.step()
