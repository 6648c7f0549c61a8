"""diagnosis: padding-counted

The input ids serve as targets where they are no padding: masked prompts are learnt with the answers."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = input_ids[:, 1:]
    seen = (targets != 0).sum()
    dist.all_reduce(seen)
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=0, reduction="sum")
    optimizer.zero_grad()
    (loss * dist.get_world_size() / seen).backward()
    optimizer.step()
