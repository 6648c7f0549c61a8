"""diagnosis: sum-of-rank-means

Undoes DDP's division by P and forgets that means were added."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() / max(len(inputs), 1)
    (loss * dist.get_world_size()).backward()
    optimizer.step()
