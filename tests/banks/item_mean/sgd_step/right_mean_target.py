"""The mean gradient is w minus the mean target: only targets need to be averaged."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    box = torch.stack([local_targets.sum(), torch.tensor(len(local_targets)).to(local_targets)])
    dist.all_reduce(box)
    return w - lr * (w - box[0] / box[1])
