"""Items as a sum; the second term gets what the division at the end will take away."""

import torch
import torch.distributed as dist


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    total = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(total)
    factor = dist.get_world_size() / total.item()
    optimizer.zero_grad()
    for inputs, targets in microbatches:
        outputs, balance = ddp_model(inputs)
        loss = 0.5 * (outputs - targets).square().sum()
        (loss + aux_weight * balance / (factor * len(microbatches))).backward()
    for parameter in ddp_model.parameters():
        parameter.grad *= factor
    optimizer.step()
