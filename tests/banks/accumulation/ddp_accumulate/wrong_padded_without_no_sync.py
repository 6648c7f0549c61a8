"""diagnosis: extra-synchronization

All ranks take equally many backwards, so nobody waits, but each of them reduces."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    most = torch.tensor(len(microbatches))
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    weight = next(ddp_model.parameters())
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    for inputs, targets in [*microbatches, *[none] * (most.item() - len(microbatches))]:
        loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
        (loss * (dist.get_world_size() / count.item())).backward()
    optimizer.step()
