"""Every rank gets all batches: dear, and right."""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, batches)
    u = 0
    for k in range(max(map(len, everyone))):
        rows = [b[k] for b in everyone if k < len(b)]
        x, y = map(torch.cat, zip(*rows, strict=True))
        if len(x):
            optimizer.zero_grad()
            (0.5 * (ddp_model(x) - y) ** 2).sum(1).mean().backward()
            optimizer.step()
            u += 1
    return u
