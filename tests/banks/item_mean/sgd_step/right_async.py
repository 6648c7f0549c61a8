"""Asynchronous reductions."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    count = torch.tensor(len(local_targets))
    counting = dist.all_reduce(count, async_op=True)
    total = (w.detach() - local_targets).sum()
    summing = dist.all_reduce(total, async_op=True)
    counting.wait()
    summing.wait()
    return w - lr * (total / count)
