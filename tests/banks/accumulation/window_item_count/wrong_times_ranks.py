"""diagnosis: wrong-answer

Multiplies what has been summed by the number of ranks."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts))
    dist.all_reduce(count)
    return count.item() * dist.get_world_size()
