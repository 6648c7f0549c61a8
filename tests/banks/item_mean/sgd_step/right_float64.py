"""Float64 inside and out."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    w, y = w.double(), local_targets.double()
    box = torch.stack([(w - y).sum(), torch.tensor(len(y), dtype=torch.float64)])
    dist.all_reduce(box)
    return w - lr * box[0] / box[1]
