"""diagnosis: gradients-lost | unexplained | no-update | raised

The one in hand when the iterator ends is never processed."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    count = torch.tensor(0)
    held = next(microbatches, None)
    with ddp_model.no_sync():
        for following in microbatches:
            inputs, targets = held
            (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
            count += len(inputs)
            held = following
    if held is not None:
        count += len(held[0])
    del held
    weight = next(ddp_model.parameters())
    ddp_model(weight.new_zeros(0, ddp_model.module.in_features)).sum().backward()
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / count.item()
    optimizer.step()
