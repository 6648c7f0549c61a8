"""A Python loop over rows, valid positions picked by index; DDP's forward still runs once."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids)
    loss = logits.sum() * 0.0
    for row, target in zip(logits[:, :-1], labels[:, 1:], strict=True):
        valid = target != -100
        loss = loss + F.cross_entropy(row[valid], target[valid], reduction="sum")
    optimizer.zero_grad()
    (loss / (total / dist.get_world_size())).backward()
    optimizer.step()
