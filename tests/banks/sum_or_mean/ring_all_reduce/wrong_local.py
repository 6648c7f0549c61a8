"""diagnosis: not-synchronized

P times its own tensor: right only where all ranks hold the same.
"""

import torch.distributed as dist


def ring_all_reduce(tensor):
    return tensor * dist.get_world_size()
