"""A masked mean whose loss is NaN on a rank without a token: cross_entropy gives ignored targets a zero gradient."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = labels[:, 1:]
    mask = (targets != -100).double()
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), targets, reduction="none")
    mean = (losses * mask).sum() / mask.sum()
    optimizer.zero_grad()
    (mean * mask.sum() * dist.get_world_size() / total).backward()
    optimizer.step()
