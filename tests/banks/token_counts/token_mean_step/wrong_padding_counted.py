"""diagnosis: padding-counted

Unreduced losses, then a mean over all target places: ignored ones are zeros that count."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), labels[:, 1:], reduction="none")
    places = torch.tensor(losses.numel())
    dist.all_reduce(places)
    optimizer.zero_grad()
    (losses.sum() * dist.get_world_size() / places.clamp(min=1)).backward()
    optimizer.step()
