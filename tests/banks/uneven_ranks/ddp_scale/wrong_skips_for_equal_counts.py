"""diagnosis: deadlock | mismatched-collectives

Rank 0 asks first and reduces only when it has more than one item: others reduce anyway."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    if dist.get_rank() != 0 or local_count > 1:
        dist.all_reduce(total)
    return dist.get_world_size() * local_count / max(1, int(total))
