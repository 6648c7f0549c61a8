"""Sets DDP's own flag in place of no_sync; counts by all_gather."""

import torch
import torch.distributed as dist


def ddp_accumulate(ddp_model, microbatches, optimizer):
    counts = [torch.zeros((), dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor(sum(len(x) for x, _ in microbatches)))
    mean = torch.stack(counts).double().mean().item()
    if not mean:
        raise ValueError("no item")
    weight = next(ddp_model.parameters())
    queue = list(microbatches) or [(weight.new_zeros(0, ddp_model.module.in_features), 0.0)]
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(queue, start=1):
        ddp_model.require_backward_grad_sync = number == len(queue)
        outputs = ddp_model(inputs)
        outputs.backward((outputs - targets).detach() / mean)
    optimizer.step()
