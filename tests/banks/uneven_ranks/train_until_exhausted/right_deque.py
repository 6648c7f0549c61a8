"""Takes from a deque, and a flag says whether anybody has a batch left."""

from collections import deque

import torch
import torch.distributed as dist


def train_until_exhausted(ddp_model, batches, optimizer):
    left, done = deque(batches), 0
    p = next(ddp_model.parameters())
    while True:
        more = torch.tensor([bool(left)])
        flag = more.to(torch.uint8)
        dist.all_reduce(flag, op=dist.ReduceOp.MAX)
        if not flag.item():
            break
        x, y = left.popleft() if left else (p.new_empty((0, ddp_model.module.in_features)), None)
        n = torch.tensor(x.shape[0], dtype=torch.float64)
        dist.all_reduce(n)
        if n == 0:
            continue
        optimizer.zero_grad()
        out = ddp_model(x)
        loss = out.sum() if y is None else (out - y).square().sum() / 2
        loss.mul(dist.get_world_size() / n.item()).backward()
        optimizer.step()
        done += 1
    return done
