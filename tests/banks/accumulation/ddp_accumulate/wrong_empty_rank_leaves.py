"""diagnosis: missing-forward | deadlock | mismatched-collectives

A rank without microbatches makes no backward, and the others wait in theirs."""

import contextlib

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    count = torch.tensor(sum(len(inputs) for inputs, _ in microbatches))
    dist.all_reduce(count)
    if count == 0:
        raise ValueError("no item in the window")
    optimizer.zero_grad()
    for k, (inputs, targets) in enumerate(microbatches):
        with contextlib.nullcontext() if k == len(microbatches) - 1 else ddp_model.no_sync():
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
        (loss * (dist.get_world_size() / count.item())).backward()
    optimizer.step()
