"""Loss scaling: scaled, unscaled, then the scaler steps."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    n = torch.tensor(len(inputs))
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    optimizer.zero_grad()
    loss = (0.5 * (ddp_model(inputs) - targets) ** 2).sum() * (dist.get_world_size() / n.item())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
