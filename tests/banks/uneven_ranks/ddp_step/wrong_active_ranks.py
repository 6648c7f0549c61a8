"""diagnosis: active-ranks | mean-of-rank-means

Averages the means of the ranks that have items."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    active = torch.tensor(int(len(inputs) > 0))
    dist.all_reduce(active)
    if not active:
        raise ValueError
    optimizer.zero_grad()
    loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() / max(len(inputs), 1)
    (loss * dist.get_world_size() / active).backward()
    optimizer.step()
