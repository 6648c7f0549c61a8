"""diagnosis: pure-scale | wrong-answer | unexplained

n_r over the largest count: a maximum instead of a mean."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    largest = torch.tensor(local_count)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    if not largest:
        raise ValueError
    return local_count / int(largest)
