"""diagnosis: wrong-answer

The largest count of a rank, not their sum."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts))
    dist.all_reduce(count, op=dist.ReduceOp.MAX)
    return count.item()
