"""no_sync, and a reduction of its own: sums and count in one vector."""

import torch
import torch.distributed as dist
from torch.nn.utils import parameters_to_vector


def ddp_step(ddp_model, inputs, targets, optimizer):
    optimizer.zero_grad()
    with ddp_model.no_sync():
        (0.5 * (ddp_model(inputs) - targets).pow(2)).sum().backward()
    parameters = list(ddp_model.parameters())
    packed = torch.cat([parameters_to_vector([p.grad for p in parameters]),
                        torch.tensor([len(inputs)]).to(inputs)])
    dist.all_reduce(packed)
    if packed[-1] == 0:
        raise ValueError("nobody has an item")
    flat, start = packed[:-1] / packed[-1], 0
    for p in parameters:
        p.grad.copy_(flat[start:start + p.numel()].view_as(p))
        start += p.numel()
    optimizer.step()
