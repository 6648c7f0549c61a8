"""The labels are shifted instead of the logits: the last position of each row is ignored."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    shifted = torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], -100)], dim=1)
    logits = ddp_model(input_ids)
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), shifted.reshape(-1), reduction="sum")
    optimizer.zero_grad()
    loss.mul(dist.get_world_size() / total).backward()
    optimizer.step()
