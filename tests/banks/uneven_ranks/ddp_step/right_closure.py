"""The whole step in a closure that the optimizer calls."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(float(len(inputs)), dtype=torch.float64)
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")

    def closure():
        optimizer.zero_grad()
        loss = torch.einsum("no->", (ddp_model(inputs) - targets).square()) / 2 / (total / dist.get_world_size())
        loss.backward()
        return loss

    optimizer.step(closure)
