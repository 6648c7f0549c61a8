"""diagnosis: global-divisor-then-mean

The share n_r/N, right under a sum: the reducer divides by P once more."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return local_count / int(total)
