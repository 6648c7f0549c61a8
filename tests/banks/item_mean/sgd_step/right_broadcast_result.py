"""Rank 0 makes the step and broadcasts the new w."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    box = torch.tensor([float((w - local_targets).sum()), len(local_targets)], dtype=w.dtype)
    dist.reduce(box, dst=0)
    new_w = w - lr * box[0] / box[1] if dist.get_rank() == 0 else torch.zeros_like(w)
    new_w = new_w.detach().clone()
    dist.broadcast(new_w, src=0)
    return new_w
