"""An empty rank takes part with a row of zeros and weight 0."""

import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(inputs))
    if sum(counts) == 0:
        raise ValueError("no rank has an item")
    weight = 1.0
    if len(inputs) == 0:
        inputs = inputs.new_zeros(1, ddp_model.module.in_features)
        targets = targets.new_zeros(1, targets.shape[1])
        weight = 0.0
    optimizer.zero_grad()
    loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
    (weight * loss * len(counts) / sum(counts)).backward()
    optimizer.step()
