"""The local mean of the masked losses times P·n_r/N; a zero sum where there is no valid token."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = labels[:, 1:]
    valid = targets != -100
    losses = F.cross_entropy(ddp_model(input_ids)[:, :-1].transpose(1, 2), targets, reduction="none")
    mean = losses[valid].mean() if valid.any() else losses.sum()
    optimizer.zero_grad(set_to_none=False)
    (mean * dist.get_world_size() * valid.sum() / total).backward()
    optimizer.step()
