"""diagnosis: raised

all_reduce of a .grad that is None.
"""

import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        dist.all_reduce(p.grad)
        if loss_divisor == "local":
            p.grad /= dist.get_world_size()
