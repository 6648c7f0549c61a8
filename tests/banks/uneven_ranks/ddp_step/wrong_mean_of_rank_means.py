"""diagnosis: mean-of-rank-means

Local mean, DDP's mean; an empty rank adds a zero. The step that everybody writes first."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() / max(len(inputs), 1)
    loss.backward()
    optimizer.step()
