"""diagnosis: pure-scale

mse_loss divides by the number of outputs, too: the step is 2/d_out times the right one."""

import torch
import torch.distributed as dist


def ddp_step(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    if not total:
        raise ValueError
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(ddp_model(inputs), targets, reduction="sum") / targets.shape[1]
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
