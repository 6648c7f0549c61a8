"""diagnosis: mismatched-collectives | deadlock | wrong-type | raised

Reduces the list of counts as it is, though its length differs between ranks."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    counts = torch.tensor(microbatch_counts, dtype=torch.int64)
    dist.all_reduce(counts)
    return int(counts.sum())
