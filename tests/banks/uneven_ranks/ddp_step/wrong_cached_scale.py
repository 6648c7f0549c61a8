"""diagnosis: mean-of-rank-means

The factor P·n_r/N of the first call is kept."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    if not hasattr(ddp_model, "scale"):
        total = torch.tensor(len(inputs))
        dist.all_reduce(total)
        if total == 0:
            raise ValueError("no item")
        ddp_model.scale = dist.get_world_size() * len(inputs) / total
    optimizer.zero_grad()
    losses = (0.5 * (ddp_model(inputs) - targets) ** 2).sum(-1)
    (ddp_model.scale * (losses.mean() if len(losses) else losses.sum())).backward()
    optimizer.step()
