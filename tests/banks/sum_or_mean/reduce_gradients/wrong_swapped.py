"""diagnosis: global-divisor-then-mean | sum-of-rank-means

The two words the wrong way round.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    divisor = {"local": 1, "global": dist.get_world_size()}.get(loss_divisor)
    if divisor is None:
        raise ValueError(loss_divisor)
    for p in parameters:
        flag = torch.tensor(int(p.grad is not None))
        dist.all_reduce(flag)
        if flag:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= divisor
