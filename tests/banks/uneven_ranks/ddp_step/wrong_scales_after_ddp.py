"""diagnosis: not-synchronized

The factor P·n_r/N on the gradients that DDP has averaged: another one on every rank.
"""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    optimizer.zero_grad()
    loss = (0.5 * (ddp_model(inputs) - targets) ** 2).sum(1)
    (loss.mean() if len(loss) else loss.sum()).backward()
    for p in ddp_model.parameters():
        p.grad *= dist.get_world_size() * len(inputs) / n.item()
    optimizer.step()
