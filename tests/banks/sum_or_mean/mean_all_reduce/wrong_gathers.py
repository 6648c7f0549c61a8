"""diagnosis: forbidden-operation

Every rank gets all tensors and averages them itself: P times the memory.
"""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    mine = tensor.double().contiguous()
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    return torch.stack(parts).mean(0)
