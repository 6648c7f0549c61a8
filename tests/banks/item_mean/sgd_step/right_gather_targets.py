"""Every rank gathers all targets and does what one process would do."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    everyones = [None] * dist.get_world_size()
    dist.all_gather_object(everyones, local_targets.tolist())
    targets = torch.tensor([y for part in everyones for y in part], dtype=w.dtype)
    return w - lr * (w - targets).mean()
