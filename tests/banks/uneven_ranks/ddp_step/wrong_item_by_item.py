"""diagnosis: wrong-number-of-steps | deadlock | mismatched-collectives

One step per item: ranks with more items reduce more often than the others."""

import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    for x, y in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        (0.5 * ((ddp_model(x[None]) - y[None]) ** 2).sum() / dist.get_world_size()).backward()
        optimizer.step()
