"""diagnosis: wrong-shift

Rows shifted as one long row, with the plain mean of cross_entropy on each rank."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids).flatten(0, 1)
    targets = labels.flatten()[1:]
    loss = F.cross_entropy(logits[:-1], targets, reduction="sum") / (targets != -100).sum().clamp(min=1)
    optimizer.zero_grad()
    (loss + 0.0 * logits.sum()).backward()
    optimizer.step()
