"""diagnosis: missing-forward

On an empty rank a zero made of the parameters, without DDP's forward: its backward reduces nothing, the others wait."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    if len(inputs):
        loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total
    else:
        loss = sum(0.0 * parameter.sum() for parameter in ddp_model.parameters())
    loss.backward()
    optimizer.step()
