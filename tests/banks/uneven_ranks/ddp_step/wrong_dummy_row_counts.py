"""diagnosis: padding-counted

An empty rank puts a row of zeros through the model and lets it count.
"""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    if len(inputs) == 0:
        inputs, targets = inputs.new_zeros(1, inputs.shape[1]), targets.new_zeros(1, targets.shape[1])
    optimizer.zero_grad()
    loss = (0.5 * (ddp_model(inputs) - targets) ** 2).sum()
    (loss * dist.get_world_size() / n).backward()
    optimizer.step()
