"""Every rank gathers all rows and does what one process would do: dear, and right."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, (inputs, targets))
    every_input, every_target = (torch.cat(column) for column in zip(*rows, strict=True))
    if not len(every_input):
        raise ValueError("no item")
    optimizer.zero_grad(set_to_none=False)
    losses = 0.5 * (ddp_model(every_input) - every_target).square().sum(-1)
    losses.mean().backward()
    optimizer.step()
