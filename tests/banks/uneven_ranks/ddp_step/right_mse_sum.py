"""mse_loss with reduction='sum', halved."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(inputs.shape[0])
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    loss = F.mse_loss(ddp_model(inputs), targets, reduction="sum") / 2
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
