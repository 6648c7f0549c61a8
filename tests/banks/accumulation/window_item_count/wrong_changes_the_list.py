"""diagnosis: changed-its-argument

Uses up the caller's list, which is needed for the training loop."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    total = 0
    while microbatch_counts:
        total += microbatch_counts.pop()
    count = torch.tensor(total)
    dist.all_reduce(count)
    return count.item()
