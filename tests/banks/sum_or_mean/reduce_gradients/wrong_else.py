"""diagnosis: missing-error

Every word that is not "local" is taken for "global".
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    divisor = dist.get_world_size() if loss_divisor == "local" else 1
    for p in parameters:
        flag = torch.tensor(int(p.grad is not None))
        dist.all_reduce(flag)
        if flag:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= divisor
