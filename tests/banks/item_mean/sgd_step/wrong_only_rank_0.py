"""diagnosis: not-synchronized

Only rank 0 makes the step."""

import torch
import torch.distributed as dist


def sgd_step(w, local_targets, lr):
    box = torch.stack([(w - local_targets).sum(), torch.tensor(len(local_targets)).to(w)])
    dist.reduce(box, dst=0)
    if dist.get_rank() == 0:
        return w - lr * box[0] / box[1]
    return w.clone()
