"""diagnosis: second-term-misweighted

The second term of the last microbatch stands for all."""

import torch
import torch.distributed as dist


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    total = torch.tensor(sum(len(targets) for _, targets in microbatches))
    dist.all_reduce(total)
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        outputs, balance = ddp_model(inputs)
        loss_sum = 0.5 * (outputs - targets).square().sum()
        items = loss_sum * dist.get_world_size() / total.item()
        (items + (inputs is microbatches[-1][0]) * aux_weight * balance).backward()
    optimizer.step()
