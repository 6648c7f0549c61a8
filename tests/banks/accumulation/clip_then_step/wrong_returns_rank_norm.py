"""diagnosis: wrong-return-value

The norm of the rank's own gradient, before the reduction."""

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
    own = [p.grad.flatten() for p in ddp_model.parameters() if p.grad is not None]
    norm = torch.cat(own).norm().item() if own else 0.0
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    torch.nn.utils.clip_grad_norm_(ddp_model.parameters(), max_norm)
    optimizer.step()
    return norm
