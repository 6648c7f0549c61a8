"""diagnosis: missing-error | unneeded-error | pure-scale | clamped-count

W + 1e-3 instead of a question: no error, and every update a little too short."""

import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    total = sample_weights.sum()
    dist.all_reduce(total)
    optimizer.zero_grad()
    losses = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum(1)
    ((sample_weights * losses).sum() * dist.get_world_size() / (total + 1e-3)).backward()
    optimizer.step()
