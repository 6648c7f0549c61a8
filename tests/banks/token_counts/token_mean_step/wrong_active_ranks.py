"""diagnosis: active-ranks | mean-of-rank-means

Averages the means of the ranks that have a token."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    count = (labels[:, 1:] != -100).sum()
    active = (count > 0).long()
    dist.all_reduce(active)
    optimizer.zero_grad()
    (loss / count.clamp(min=1) * dist.get_world_size() / active).backward()
    optimizer.step()
