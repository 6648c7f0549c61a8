"""diagnosis: pure-scale

mse_loss has no ½ and takes the mean over outputs, too."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    outputs = ddp_model(inputs)
    loss = F.mse_loss(outputs, targets) if len(inputs) else outputs.sum()
    (loss * dist.get_world_size() * len(inputs) / total).backward()
    optimizer.step()
