"""A plain DDP training script, right and with the six mistakes that people make: what the plugin must tell apart.

Each function is `train(model, data)` for `assert_normalized`. Only the lines that normalise differ.
"""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

IGNORED = -100


def right(model, data):
    """Σ over the window, divided once by N; P undoes DDP's mean."""
    _train(model, data, lambda step: step.loss_sum * step.world_size / step.window_count)


def mean_of_rank_means(model, data):
    _train(model, data, lambda step: step.loss_sum / step.rank_count)


def one_world_size_too_small(model, data):
    """Divides by N and forgets that DDP averages."""
    _train(model, data, lambda step: step.loss_sum / step.window_count)


def accumulation_steps_forgotten(model, data):
    """The mean of each microbatch, K of them added."""
    _train(model, data, lambda step: step.loss_sum / step.count)


def mean_of_microbatch_means(model, data):
    _train(model, data, lambda step: step.loss_sum / step.count / step.microbatches)


def partial_window_divided_by_k(model, data):
    """The last window has fewer than K microbatches, and is divided by K all the same."""
    _train(model, data, lambda step: step.loss_sum / step.count / step.accumulation_steps)


def partial_window_divided_by_k_and_nothing_else(model, data):
    """N is right, and yet a window of fewer microbatches counts as a share of a full one."""
    _train(model, data, lambda step: step.loss_sum * step.world_size / step.window_count
           * step.microbatches / step.accumulation_steps)


def padding_counted(model, data):
    """N counts every slot of the padded rows."""
    _train(model, data, lambda step: step.loss_sum * step.world_size / step.slot_count)


class _Step:
    """What a script knows when it normalises the loss of one microbatch."""

    def __init__(self, window, accumulation_steps):
        self.world_size = dist.get_world_size()
        self.accumulation_steps, self.microbatches = accumulation_steps, len(window)
        self.rank_count = sum(_count(batch) for batch in window)
        self.window_count = _summed(self.rank_count)
        self.slot_count = _summed(sum(batch["labels"][:, 1:].numel() for batch in window))
        self.loss_sum, self.count = None, 0


def _train(model, data, normalised):
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for window in data.windows:
        step = _Step(window, data.accumulation_steps)
        for k, batch in enumerate(window):
            with nullcontext() if k + 1 == len(window) else ddp.no_sync():
                logits, targets = ddp(batch["input_ids"])[:, :-1], batch["labels"][:, 1:]
                step.count = _count(batch)
                step.loss_sum = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED,
                                                reduction="sum")
                normalised(step).backward()
        optimizer.step()
        optimizer.zero_grad()


def _count(batch):
    return int((batch["labels"][:, 1:] != IGNORED).sum())


def _summed(count):
    total = torch.tensor(count)
    dist.all_reduce(total)
    return int(total)
