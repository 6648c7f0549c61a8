"""The lesson's way: the last microbatch synchronizes; a rank without one takes an empty one."""

import contextlib

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count.item() == 0:
        raise ValueError("no item in the window")
    if not microbatches:
        weight = next(ddp_model.parameters())
        none = weight.new_zeros(0, ddp_model.module.in_features)
        microbatches = [(none, weight.new_zeros(()))]
    optimizer.zero_grad()
    for k, (inputs, targets) in enumerate(microbatches):
        last = k == len(microbatches) - 1
        with contextlib.nullcontext() if last else ddp_model.no_sync():
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
            (loss * (dist.get_world_size() / count.item())).backward()
    optimizer.step()
