"""diagnosis: raised | overflow-or-truncation | unexplained | unneeded-error | pure-scale

W in an integer tensor: the fractions of the weights are cut off, and small sums become 0."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum().long()
    dist.all_reduce(total)
    if not total:
        raise ValueError("no weight")
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
