"""diagnosis: padding-counted

Unreduced losses and .mean() on each rank: divided by B·(T−1), whatever is ignored."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), labels[:, 1:], reduction="none")
    optimizer.zero_grad()
    (losses.mean() if losses.numel() else losses.sum()).backward()
    optimizer.step()
