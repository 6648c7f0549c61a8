"""diagnosis: wrong-group

Count and factor of the data group, as if context ranks were none of DDP's."""

import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    total = count.clone()
    dist.all_reduce(total)
    dist.all_reduce(count, group=data_group)
    if total.item() == 0:
        raise ValueError("no token of any rank is valid")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    ((losses * valid).sum() * dist.get_world_size(data_group) / count.clamp(min=1).item()).backward()
    optimizer.step()
