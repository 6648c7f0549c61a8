"""P·W_r/W on the weighted local mean, whose divisor is 1 where there is no weight."""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    Wr = sample_weights.sum()
    W = Wr.clone()
    dist.all_reduce(W)
    if W == 0:
        raise ValueError
    optimizer.zero_grad()
    loss = 0.5 * (ddp_model(inputs) - targets).square().sum(1)
    mean = (sample_weights * loss).sum() / torch.where(Wr > 0, Wr, torch.ones_like(Wr))
    (mean * (dist.get_world_size() * Wr / W)).backward()
    optimizer.step()
