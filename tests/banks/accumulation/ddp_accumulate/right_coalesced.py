"""All gradients and the count in one coalesced functional reduction."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def ddp_accumulate(ddp_model, microbatches, optimizer):
    module = ddp_model.module
    optimizer.zero_grad(set_to_none=False)
    for inputs, targets in microbatches:
        (0.5 * (module(inputs) - targets) ** 2).sum().backward()
    count = torch.tensor([float(sum(len(x) for x, _ in microbatches))])
    tensors = [*(p.grad for p in module.parameters()), count.to(next(module.parameters()).dtype)]
    *sums, total = functional.all_reduce_coalesced(tensors, "sum", dist.group.WORLD)
    if total.item() == 0:
        raise ValueError("no item")
    for p, gradient in zip(module.parameters(), sums, strict=True):
        p.grad = functional.wait_tensor(gradient) / total.item()
    optimizer.step()
