"""diagnosis: pure-scale

A mean over all elements, so that each item is divided by its outputs, too."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    outputs = ddp_model(inputs)
    loss = (0.5 * (outputs - targets) ** 2).mean() if len(inputs) else outputs.sum()
    (loss * dist.get_world_size() * len(inputs) / total).backward()
    optimizer.step()
