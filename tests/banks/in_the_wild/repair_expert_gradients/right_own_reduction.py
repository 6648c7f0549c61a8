"""Everything by hand: the loss is divided by N, gradients are added, each over its own ranks."""

import torch.distributed as dist


def repair_expert_gradients(shared, expert, inputs, targets, optimizer, expert_group):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(inputs))
    if not sum(counts):
        raise ValueError("no rank has an item")
    optimizer.zero_grad()
    (0.5 * (expert(shared.module(inputs)) - targets).square().sum() / sum(counts)).backward()
    for module, group in ((shared, None), (expert, expert_group)):
        for parameter in module.parameters():
            dist.all_reduce(parameter.grad, group=group)
    optimizer.step()
