"""diagnosis: deadlock | mismatched-collectives

A rank without microbatches has nothing to add, and leaves the others waiting."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    if not microbatch_counts:
        return 0
    count = torch.tensor(sum(microbatch_counts))
    dist.all_reduce(count)
    return count.item()
