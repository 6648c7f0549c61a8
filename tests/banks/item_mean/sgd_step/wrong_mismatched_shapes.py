"""diagnosis: mismatched-collectives

All-reduces the gradients per item, of which every rank has another number."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    gradients = w - local_targets
    dist.all_reduce(gradients)
    count = torch.tensor(len(local_targets))
    dist.all_reduce(count)
    return w - lr * gradients.sum() / count
