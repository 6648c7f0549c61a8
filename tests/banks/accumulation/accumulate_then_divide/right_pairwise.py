"""itertools.pairwise with a sentinel; hooks after accumulation count nothing, the reduced gradient is scaled."""

import itertools

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    weight, end = next(ddp_model.parameters()), object()
    none = weight.new_zeros(0, ddp_model.module.in_features), 0.0
    count = torch.zeros((), dtype=torch.float64)
    optimizer.zero_grad()
    stream = itertools.chain([none], microbatches, [end])
    for current, following in itertools.pairwise(stream):
        ddp_model.require_backward_grad_sync = following is end
        outputs = ddp_model(current[0])
        outputs.backward((outputs - current[1]).detach())
        count += len(outputs)
    dist.all_reduce(count)
    if not count:
        raise ValueError("no item")
    torch._foreach_mul_([p.grad for p in ddp_model.parameters()], (dist.get_world_size() / count).item())
    optimizer.step()
