"""diagnosis: clipped-wrongly

Each rank is given its share of max_norm, though each holds the whole gradient."""

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
    norm = torch.nn.utils.clip_grad_norm_(ddp_model.parameters(), max_norm / dist.get_world_size())
    optimizer.step()
    return norm.item()
