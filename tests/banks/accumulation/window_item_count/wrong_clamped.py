"""diagnosis: clamped-count

Counts at least 1 on each rank, so that later nobody divides by 0."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(max(1, sum(microbatch_counts)))
    dist.all_reduce(count)
    return count.item()
