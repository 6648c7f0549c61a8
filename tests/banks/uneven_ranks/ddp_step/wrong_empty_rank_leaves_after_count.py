"""diagnosis: deadlock

The empty rank says that it has nothing, and leaves before the gradients: DDP of the others waits for its bucket."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    if len(inputs) == 0:
        return
    optimizer.zero_grad()
    (0.5 * ((ddp_model(inputs) - targets) ** 2).sum() * dist.get_world_size() / total).backward()
    optimizer.step()
