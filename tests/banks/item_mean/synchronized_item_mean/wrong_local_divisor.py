"""diagnosis: not-synchronized | local-window-count

The sum is global, the divisor is this rank's own count: every rank gets another answer."""

import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    total = local_gradients.sum(0)
    dist.all_reduce(total)
    return total / max(len(local_gradients), 1)
