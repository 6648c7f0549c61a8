"""diagnosis: wrong-group

The count of the data group, summed once more over all ranks: every token counts once for each of its peers."""

import torch.distributed as dist


def repair_context_count(ddp_model, inputs, targets, valid, optimizer, data_group):
    count = valid.sum()
    dist.all_reduce(count, group=data_group)
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no token of any rank is valid")
    losses = 0.5 * (ddp_model(inputs) - targets).square().sum(dim=-1)
    optimizer.zero_grad()
    ((losses * valid).sum() * dist.get_world_size() / count.item()).backward()
    optimizer.step()
