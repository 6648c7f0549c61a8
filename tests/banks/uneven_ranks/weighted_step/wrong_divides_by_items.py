"""diagnosis: divided-by-items

Weighs the losses and divides by N: right only where the weights average to 1."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    box = torch.stack([torch.tensor(len(inputs)).to(inputs), sample_weights.sum()])
    dist.all_reduce(box)
    if not box[1]:
        raise ValueError
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / box[0]).backward()
    optimizer.step()
