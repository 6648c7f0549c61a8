"""diagnosis: wrong-return-value

Returns the number of items trained on, not of updates.
"""

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    n = torch.tensor(len(batches))
    dist.all_reduce(n, op=dist.ReduceOp.MAX)
    p = next(ddp_model.parameters())
    u = 0
    for i in range(int(n)):
        x, y = batches[i] if i < len(batches) else (p.new_zeros(0, ddp_model.module.in_features), 0)
        N = torch.tensor(len(x))
        dist.all_reduce(N)
        if N:
            optimizer.zero_grad()
            ((0.5 * (ddp_model(x) - y) ** 2).sum() * dist.get_world_size() / N).backward()
            optimizer.step()
            u += N.item()
    return u
