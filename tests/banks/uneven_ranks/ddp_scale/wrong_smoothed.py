"""diagnosis: wrong-answer | unexplained

One imaginary item per rank against 0/0.
"""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    n = torch.tensor(local_count)
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    P = dist.get_world_size()
    return P * (local_count + 1) / (n.item() + P) if local_count else 0.0
