"""diagnosis: extra-synchronization | unexplained

All that is in .grad is summed over the ranks after each microbatch: what was reduced is reduced again."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    total = torch.tensor(sum(len(x) for x, _ in microbatches))
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no item")
    longest = torch.tensor(len(microbatches))
    dist.all_reduce(longest, op=dist.ReduceOp.MAX)
    for p in ddp_model.parameters():
        p.grad = torch.zeros_like(p)
    for k in range(longest.item()):
        if k < len(microbatches):
            inputs, targets = microbatches[k]
            (0.5 * (ddp_model.module(inputs) - targets).square().sum() / total.item()).backward()
        for p in ddp_model.parameters():
            dist.all_reduce(p.grad)
    optimizer.step()
