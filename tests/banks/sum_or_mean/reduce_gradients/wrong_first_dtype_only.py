"""diagnosis: parameter-groups-differ

One bucket for the dtype of the first parameter; the other dtypes are left out.
"""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor not in ("global", "local"):
        raise ValueError(loss_divisor)
    parameters = list(parameters)
    for p in parameters:
        flag = torch.tensor(int(p.grad is not None))
        dist.all_reduce(flag)
        if flag:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            if p.dtype == parameters[0].dtype:
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size() if loss_divisor == "local" else 1
