"""ReduceOp.AVG is allowed here; a global divisor gets the P back."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    if loss_divisor == "global":
        factor = dist.get_world_size()
    elif loss_divisor == "local":
        factor = 1
    else:
        raise ValueError(loss_divisor)
    for parameter in parameters:
        anybody = [None] * dist.get_world_size()
        dist.all_gather_object(anybody, parameter.grad is not None)
        if any(anybody):
            mine = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            dist.all_reduce(mine, op=dist.ReduceOp.AVG)
            parameter.grad = mine * factor
