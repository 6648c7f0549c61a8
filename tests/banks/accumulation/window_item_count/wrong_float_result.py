"""diagnosis: wrong-type

Returns a float: fine for a division, no count."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts), dtype=torch.float64)
    dist.all_reduce(count)
    return count.item()
