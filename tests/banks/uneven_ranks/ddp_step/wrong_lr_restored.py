"""diagnosis: optimizer-changed

Hides the factor in the learning rate, and puts the old one back after the step.
"""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets) ** 2).sum().backward()
    old = optimizer.param_groups[0]["lr"]
    optimizer.param_groups[0]["lr"] = old * dist.get_world_size() / n.item()
    optimizer.step()
    optimizer.param_groups[0]["lr"] = old
