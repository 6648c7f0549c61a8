"""A hook of the optimizer scales the averaged sums just before the step."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor([len(inputs)], dtype=torch.int32)
    dist.all_reduce(total)
    if not total:
        raise ValueError("no item")
    for p in ddp_model.parameters():
        p.grad = None
    (0.5 * (ddp_model(inputs) - targets) ** 2).sum().backward()

    def scale(optimizer, args, kwargs):
        torch._foreach_mul_([p.grad for p in ddp_model.parameters()], dist.get_world_size() / int(total))

    handle = optimizer.register_step_pre_hook(scale)
    optimizer.step()
    handle.remove()
