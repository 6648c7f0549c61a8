"""diagnosis: mean-of-microbatch-means

P·n_r/N is right for the mean over a rank's window, and this is the mean of its microbatches' means."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    own = sum(len(x) for x, _ in microbatches)
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    optimizer.zero_grad()
    share = dist.get_world_size() * own / total.item()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            if len(inputs):
                mean = 0.5 * (ddp_model(inputs) - targets).square().sum(1).mean()
                (share * mean / len(microbatches)).backward()
    ddp_model(next(ddp_model.parameters()).new_zeros(0, ddp_model.module.in_features)).sum().backward()
    optimizer.step()
