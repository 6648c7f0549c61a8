"""Both means written down as they are said, then one backward."""

import torch
import torch.distributed as dist


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    world = dist.get_world_size()
    counts = [None] * world
    dist.all_gather_object(counts, sum(len(inputs) for inputs, _ in microbatches))
    results = [(ddp_model.module(inputs), targets) for inputs, targets in microbatches]
    item_term = sum(0.5 * (outputs - targets).square().sum() for (outputs, _), targets in results) / sum(counts)
    second_term = torch.stack([balance for (_, balance), _ in results]).mean() / world
    optimizer.zero_grad()
    (item_term + aux_weight * second_term).backward()
    parameters = list(ddp_model.parameters())
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat)
    for parameter, gradient in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        parameter.grad.copy_(gradient.view_as(parameter))
    optimizer.step()
