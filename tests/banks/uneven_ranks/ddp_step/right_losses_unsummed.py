"""The losses are not added: backward gets all of them, with P/N for each."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs), dtype=torch.float64)
    dist.all_reduce(total)
    if not total:
        raise ValueError("no item")
    optimizer.zero_grad()
    losses = (0.5 * (ddp_model(inputs) - targets) ** 2).sum(-1)
    weight = (dist.get_world_size() / total).to(losses.dtype)
    torch.autograd.backward([losses], grad_tensors=[torch.ones_like(losses) * weight])
    optimizer.step()
