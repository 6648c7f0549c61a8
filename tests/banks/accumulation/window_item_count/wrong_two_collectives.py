"""diagnosis: extra-synchronization

Asks first how many microbatches there are at most, pads, and reduces the padded list."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    longest = torch.tensor(len(microbatch_counts))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    padded = torch.zeros(longest.item() + 1, dtype=torch.int64)
    padded[: len(microbatch_counts)] = torch.tensor(microbatch_counts, dtype=torch.int64)
    dist.all_reduce(padded)
    return int(padded.sum())
