"""diagnosis: deadlock | mismatched-collectives

A rank without a gradient goes on to the next parameter, and the others wait for it.
"""

import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    for p in parameters:
        if p.grad is None:
            continue
        dist.all_reduce(p.grad)
        if loss_divisor == "local":
            p.grad /= dist.get_world_size()
