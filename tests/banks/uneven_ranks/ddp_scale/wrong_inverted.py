"""diagnosis: wrong-answer | unexplained

N/(P·n_r): favours small ranks even more. Division by zero is avoided, the direction is not."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if not total:
        raise ValueError
    return int(total) / (dist.get_world_size() * local_count) if local_count else 0.0
