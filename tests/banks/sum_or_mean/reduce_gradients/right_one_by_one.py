"""Two sums per parameter, a flag and the gradient; one pass over the parameters."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters, loss_divisor):
    divisors = {"global": 1, "local": dist.get_world_size()}
    if loss_divisor not in divisors:
        raise ValueError(loss_divisor)
    for parameter in parameters:
        held = torch.tensor(int(parameter.grad is not None))
        dist.all_reduce(held, op=dist.ReduceOp.MAX)
        if held:
            total = torch.zeros_like(parameter.data) if parameter.grad is None else parameter.grad.clone()
            dist.all_reduce(total)
            parameter.grad = total / divisors[loss_divisor]
