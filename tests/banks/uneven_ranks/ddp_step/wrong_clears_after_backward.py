"""diagnosis: gradients-lost | no-update

zero_grad between backward and step: the step finds nothing."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    loss = 0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total
    loss.backward()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
