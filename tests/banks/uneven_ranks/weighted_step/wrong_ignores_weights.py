"""diagnosis: weights-ignored

The item mean: sample weights are not looked at, except for the error."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    box = torch.stack([torch.tensor(len(inputs)).to(inputs), sample_weights.sum()])
    dist.all_reduce(box)
    if not box[1]:
        raise ValueError
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / box[0]).backward()
    optimizer.step()
