"""diagnosis: active-ranks | mean-of-rank-means | local-window-count

Mean of the local window means over the ranks that have items."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    own = sum(len(inputs) for inputs, _ in microbatches)
    active = torch.tensor(int(own > 0))
    dist.all_reduce(active)
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
            (loss * (dist.get_world_size() / active.item() / max(1, own))).backward()
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
