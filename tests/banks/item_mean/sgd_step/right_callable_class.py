"""An instance with __call__."""

import torch
import torch.distributed as dist


class Step:
    def __call__(self, w, local_targets, lr):
        sums = [None] * dist.get_world_size()
        dist.all_gather_object(sums, (float((w - local_targets).sum()), local_targets.numel()))
        gradient = sum(total for total, _ in sums) / sum(count for _, count in sums)
        return torch.sub(w, gradient, alpha=lr)


sgd_step = Step()
