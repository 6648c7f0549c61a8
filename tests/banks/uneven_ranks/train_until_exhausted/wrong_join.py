"""diagnosis: wrong-number-of-steps | mean-of-rank-means

Join answers for exhausted ranks, but it knows nothing of items, and exhausted ranks do not step."""

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join


def train_until_exhausted(ddp_model, batches, optimizer):
    with Join([ddp_model]):
        for inputs, targets in batches:
            optimizer.zero_grad()
            (0.5 * (ddp_model(inputs) - targets).square().sum() / max(1, len(inputs))).backward()
            optimizer.step()
    updates = torch.tensor(len(batches))
    dist.all_reduce(updates, op=dist.ReduceOp.MAX)
    return int(updates)
