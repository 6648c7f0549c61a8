"""diagnosis: changed-its-argument

`total = local_gradients[0]` is a view: adding to it writes into the caller's items."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    n = len(local_gradients)
    total = local_gradients[0] if n else local_gradients.sum(0)
    for row in range(1, n):
        total += local_gradients[row]
    packed = torch.cat([total, torch.tensor([n])])
    dist.all_reduce(packed)
    return packed[:-1] / packed[-1]
