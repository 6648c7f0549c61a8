"""diagnosis: deadlock | mismatched-collectives

One all_reduce for each microbatch: ranks with more of them wait for ever."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    total = 0
    for own in microbatch_counts:
        count = torch.tensor(own)
        dist.all_reduce(count)
        total += count.item()
    return total
