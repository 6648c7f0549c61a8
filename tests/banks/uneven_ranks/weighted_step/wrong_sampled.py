"""diagnosis: unexplained

The weights as chances to be drawn: right on average, and never in one step.
"""

import torch
import torch.distributed as dist


def weighted_step(ddp_model, inputs, targets, sample_weights, optimizer):
    W = sample_weights.sum()
    T = W.clone()
    dist.all_reduce(T)
    if T == 0:
        raise ValueError
    i = torch.multinomial(sample_weights, len(inputs), replacement=True) if len(inputs) and W > 0 else torch.arange(0)
    k = torch.tensor(len(i))
    dist.all_reduce(k)
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs[i]) - targets[i]).square().sum() * dist.get_world_size() / k.item()).backward()
    optimizer.step()
