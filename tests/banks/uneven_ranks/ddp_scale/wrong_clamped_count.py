"""diagnosis: pure-scale | clamped-count | wrong-answer

Every rank counts at least one item, so that nothing is divided by zero, and N is too large."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(max(1, local_count))
    dist.all_reduce(total)
    return dist.get_world_size() * local_count / int(total)
