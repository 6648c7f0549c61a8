"""diagnosis: changed-its-argument

Replaces ignored labels by 0 in the caller's tensor and masks the losses afterwards."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    mask = labels[:, 1:] != -100
    labels[labels == -100] = 0
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), labels[:, 1:], reduction="none")
    loss = losses[mask].sum()
    optimizer.zero_grad()
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
