"""diagnosis: missing-error

No item anywhere gives 0.0, and the training goes on with updates of nothing."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    return dist.get_world_size() * local_count / max(int(total), 1)
