"""diagnosis: wrong-shift

torch.roll moves the first label of a row behind its last: the last position predicts the beginning."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids)
    rolled = torch.roll(labels, -1, dims=1)
    loss = F.cross_entropy(logits.flatten(0, 1), rolled.flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
