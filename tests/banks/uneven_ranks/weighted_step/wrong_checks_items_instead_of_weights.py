"""diagnosis: missing-error

Asks whether there are items: with items whose weights are all 0 it steps by NaN."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    box = torch.stack([torch.tensor(len(inputs)).to(inputs), sample_weights.sum()])
    dist.all_reduce(box)
    if not box[0]:
        raise ValueError("no item")
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / box[1]).backward()
    optimizer.step()
