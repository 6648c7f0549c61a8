"""A backward pass for each row without synchronization, and one on zero rows with it."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    k = dist.get_world_size() / n.item()
    optimizer.zero_grad(set_to_none=True)
    with ddp_model.no_sync():
        for x, y in zip(inputs, targets, strict=True):
            (k * 0.5 * (ddp_model(x[None]) - y).square().sum()).backward()
    ddp_model(inputs[:0]).sum().backward()
    optimizer.step()
