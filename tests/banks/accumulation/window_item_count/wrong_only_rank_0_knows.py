"""diagnosis: not-synchronized | wrong-answer

reduce brings the sum to rank 0 only."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts))
    dist.reduce(count, dst=0)
    return count.item()
