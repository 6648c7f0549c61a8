"""diagnosis: mean-of-rank-means

Each shard is averaged over its own valid tokens."""

import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no token of any rank is valid")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    ((losses * valid).sum() / valid.sum().clamp(min=1)).backward()
    optimizer.step()
