"""Local mean of each microbatch with its share of the window; the second term with 1/K."""

import torch
import torch.distributed as dist


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    total = torch.tensor(sum(len(targets) for _, targets in microbatches))
    dist.all_reduce(total)
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        outputs, balance = ddp_model(inputs)
        loss_sum = 0.5 * (outputs - targets).square().sum()
        share = len(targets) / total.item()
        items = loss_sum / len(targets) * share * dist.get_world_size()
        (items + aux_weight * balance / len(microbatches)).backward()
    optimizer.step()
