"""diagnosis: padding-counted

The number of tokens taken from the shape of the batch: B·T, padding and first labels with it."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = torch.tensor(labels.numel())
    dist.all_reduce(total)
    if (labels == -100).all() and dist.get_world_size() == 1:
        raise ValueError("no valid token")
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
