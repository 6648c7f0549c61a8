"""diagnosis: missing-error

Tensors divide 0 by 0 without a word: NaN where an error is due."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    return float(dist.get_world_size() * torch.tensor(local_count) / total)
