"""diagnosis: optimizer-changed

Shortens the learning rate instead of the gradient, and leaves it so."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
            (loss * (dist.get_world_size() / count.item())).backward()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    norm = torch.cat([p.grad.flatten() for p in ddp_model.parameters()]).norm().item()
    optimizer.param_groups[0]["lr"] *= min(1.0, max_norm / norm)
    optimizer.step()
    return norm
