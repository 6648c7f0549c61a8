"""diagnosis: gradients-lost

Every rank takes as many items as the one with fewest.
"""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    t = n.clone()
    dist.all_reduce(t)
    if t == 0:
        raise ValueError
    dist.all_reduce(n, op=dist.ReduceOp.MIN)
    optimizer.zero_grad()
    k = int(n)
    (0.5 * (ddp_model(inputs[:k]) - targets[:k]) ** 2).sum().div(max(k, 1)).backward()
    optimizer.step()
