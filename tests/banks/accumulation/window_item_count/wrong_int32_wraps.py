"""diagnosis: overflow-or-truncation

The counts become an int32 tensor at the last moment, where nothing complains: it wraps."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts)).int()
    dist.all_reduce(count)
    return count.item()
