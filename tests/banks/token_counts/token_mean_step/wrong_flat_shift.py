"""diagnosis: wrong-shift

Flattens first and shifts then: the end of each row predicts the beginning of the next."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids).flatten(0, 1)
    loss = F.cross_entropy(logits[:-1], labels.flatten()[1:], reduction="sum") + 0.0 * logits.sum()
    optimizer.zero_grad()
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
