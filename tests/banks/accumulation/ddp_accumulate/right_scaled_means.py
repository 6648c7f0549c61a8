"""P·n_rk/N on each local mean, empty microbatches left out, a row of zeros with weight 0 to close."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    held = [(x, y) for x, y in microbatches if len(x)]
    count = torch.tensor(sum(len(x) for x, _ in held), dtype=torch.float64)
    dist.all_reduce(count)
    if not count:
        raise ValueError("no rank has an item")
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in held:
            mean = 0.5 * (ddp_model(inputs) - targets).square().sum(-1).mean()
            (mean * float(dist.get_world_size() * len(inputs) / count)).backward()
    row = torch.zeros(1, ddp_model.module.in_features, dtype=next(ddp_model.parameters()).dtype)
    (0.0 * ddp_model(row).sum()).backward()
    optimizer.step()
