"""Weights n_r/N on local means whose 0/0 was replaced by 0."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    counts = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([float(local_gradients.size(0))]))
    share = counts[dist.get_rank()] / sum(counts)
    part = share * (
        local_gradients.mean(0) if len(local_gradients) else torch.zeros_like(local_gradients.sum(0))
    )
    dist.all_reduce(part)
    return part
