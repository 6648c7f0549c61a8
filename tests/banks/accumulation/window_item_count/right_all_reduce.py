"""The sum of the own counts, one all_reduce of an int64."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts), dtype=torch.int64)
    dist.all_reduce(count)
    return count.item()
