"""diagnosis: pure-scale | clipped-wrongly | unexplained

Compares the square of the norm with max_norm."""

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
    squares = sum(p.grad.square().sum().item() for p in ddp_model.parameters())
    for parameter in ddp_model.parameters():
        parameter.grad *= min(1.0, max_norm / squares)
    optimizer.step()
    return squares**0.5
