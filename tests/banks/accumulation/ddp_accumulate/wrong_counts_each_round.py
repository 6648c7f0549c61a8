"""diagnosis: mean-of-microbatch-means

The k-th microbatches of all ranks are divided by their common count, and the K rounds averaged."""

import contextlib

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    weight = next(ddp_model.parameters())
    none = weight.new_zeros(0, ddp_model.module.in_features), weight.new_zeros(())
    queue = list(microbatches) + [none] * (longest.item() - len(microbatches))
    counts = torch.tensor([len(inputs) for inputs, _ in queue])
    dist.all_reduce(counts)
    if not counts.sum():
        raise ValueError("no item")
    optimizer.zero_grad()
    for k, (inputs, targets) in enumerate(queue):
        with contextlib.nullcontext() if k == len(queue) - 1 else ddp_model.no_sync():
            loss = 0.5 * (ddp_model(inputs) - targets).square().sum()
            (loss * dist.get_world_size() / max(1, counts[k].item()) / len(queue)).backward()
    optimizer.step()
