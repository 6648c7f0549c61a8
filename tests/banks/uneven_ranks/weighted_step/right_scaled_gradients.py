"""Backward of the weighted sum, then the reduced gradients times P/W."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    if not total:
        raise ValueError("no weight")
    optimizer.zero_grad()
    errors = ddp_model(inputs) - targets
    (0.5 * sample_weights[:, None] * errors * errors).sum().backward()
    torch._foreach_div_([p.grad for p in ddp_model.parameters()], float(total))
    optimizer.step()
