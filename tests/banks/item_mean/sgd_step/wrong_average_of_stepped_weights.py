"""diagnosis: mean-of-rank-means

Every rank makes its own step, then the weights are averaged: the mean of rank means again."""

import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    new_w = w.clone()
    if len(local_targets):
        new_w = w - lr * (w - local_targets).mean()
    dist.all_reduce(new_w)
    return new_w / dist.get_world_size()
