"""diagnosis: sequence-mean

The mean of each sequence, averaged on each rank, averaged by DDP."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = labels[:, 1:]
    lengths = (targets != -100).sum(1)
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), targets, reduction="none")
    loss = (losses.sum(1) / lengths.clamp(min=1)).sum() / (lengths > 0).sum().clamp(min=1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
