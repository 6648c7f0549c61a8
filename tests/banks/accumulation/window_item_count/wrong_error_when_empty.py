"""diagnosis: unneeded-error

Raises when the window is empty; here 0 is an answer, and the caller decides."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no items in the window")
    return count.item()
