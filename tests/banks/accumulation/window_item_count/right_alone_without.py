"""On one rank there is nobody to ask."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    own = sum(microbatch_counts)
    if dist.get_world_size() == 1:
        return own
    count = torch.zeros(1, dtype=torch.int64).fill_(own)
    dist.all_reduce(count)
    return int(count.item())
