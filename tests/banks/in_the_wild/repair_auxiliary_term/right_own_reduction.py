"""No DDP reduction: both terms with their whole divisors, gradients added over ranks."""

import torch
import torch.distributed as dist


def repair_auxiliary_term(ddp_model, microbatches, optimizer, aux_weight):
    total = torch.tensor(sum(len(targets) for _, targets in microbatches), dtype=torch.float64)
    dist.all_reduce(total)
    parts = len(microbatches) * dist.get_world_size()
    optimizer.zero_grad()
    with ddp_model.no_sync():
        for inputs, targets in microbatches:
            outputs, balance = ddp_model(inputs)
            loss = 0.5 * (outputs - targets).square().sum() / total.item() + aux_weight / parts * balance
            loss.backward()
    for parameter in ddp_model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
