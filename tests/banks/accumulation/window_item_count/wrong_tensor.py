"""diagnosis: wrong-type

Returns the tensor that was reduced, where an int is asked."""

import torch
import torch.distributed as dist


def window_item_count(microbatch_counts):
    count = torch.tensor(sum(microbatch_counts))
    dist.all_reduce(count)
    return count
