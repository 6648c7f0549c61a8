"""diagnosis: sequence-mean

The token mean of each rank, weighted by its share of the sequences: two units in one product."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    targets = labels[:, 1:]
    own = (targets != -100).sum().item()
    both = torch.tensor([own, len(labels)])
    dist.all_reduce(both)
    if not both[0]:
        raise ValueError("no token")
    optimizer.zero_grad()
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    (loss / max(own, 1) * dist.get_world_size() * len(labels) / both[1].item()).backward()
    optimizer.step()
