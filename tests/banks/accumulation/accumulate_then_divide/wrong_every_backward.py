"""diagnosis: deadlock | mismatched-collectives | extra-synchronization | pure-scale

Every backward synchronizes, as nobody knows the last."""

import torch
import torch.distributed as dist


def accumulate_then_divide(ddp_model, microbatches, optimizer):
    optimizer.zero_grad()
    count = torch.tensor(0)
    for inputs, targets in microbatches:
        (0.5 * (ddp_model(inputs) - targets).square().sum()).backward()
        count += len(inputs)
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    for parameter in ddp_model.parameters():
        parameter.grad *= dist.get_world_size() / count.item()
    optimizer.step()
