"""diagnosis: duplicated-items

The same without the sampler: indices modulo M."""

import torch
import torch.distributed as dist


def repair_wrapped_sampler(ddp_model, inputs, targets, optimizer):
    world = dist.get_world_size()
    length = -(-len(inputs) // world)
    own = (torch.arange(length) * world + dist.get_rank()) % len(inputs)
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs[own]) - targets[own]).square().sum() / length).backward()
    optimizer.step()
