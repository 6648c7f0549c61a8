"""diagnosis: padding-counted

The input ids serve as targets: padding and masked prompts are learnt with the rest."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    targets = input_ids[:, 1:]
    places = torch.tensor(targets.numel())
    dist.all_reduce(places)
    loss = F.cross_entropy(ddp_model(input_ids)[:, :-1].flatten(0, 1), targets.flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss * dist.get_world_size() / places).backward()
    optimizer.step()
