"""diagnosis: clipped-wrongly

The squares of the ranks' norms are added, as one does with gradients that are sharded."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total.item()).backward()
    ddp_model(next(ddp_model.parameters()).new_zeros(0, ddp_model.module.in_features)).sum().backward()
    square = sum(p.grad.square().sum() for p in ddp_model.parameters())
    dist.all_reduce(square)
    norm = square.sqrt().item()
    for p in ddp_model.parameters():
        p.grad *= min(1.0, max_norm / norm)
    optimizer.step()
    return norm
