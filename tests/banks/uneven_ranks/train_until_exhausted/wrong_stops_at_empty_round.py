"""diagnosis: wrong-number-of-steps

Takes a round without items for the end.
"""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    p = next(ddp_model.parameters())
    u = i = 0
    while True:
        x, y = batches[i] if i < len(batches) else (p.new_zeros(0, ddp_model.module.in_features), 0)
        N = torch.tensor(len(x))
        dist.all_reduce(N)
        if N == 0:
            return u
        optimizer.zero_grad()
        ((0.5 * (ddp_model(x) - y) ** 2).sum() * dist.get_world_size() / N).backward()
        optimizer.step()
        u += 1
        i += 1
