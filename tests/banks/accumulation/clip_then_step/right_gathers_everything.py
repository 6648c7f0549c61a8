"""Every rank gathers all rows and does what one process would do: dear, and right."""

import torch
import torch.distributed as dist


def clip_then_step(ddp_model, microbatches, optimizer, max_norm):
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, list(microbatches))
    held = [(x, y) for own in rows for x, y in own if len(x)]
    if not held:
        raise ValueError("no item at all")
    inputs, targets = (torch.cat(column) for column in zip(*held, strict=True))
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets).square().sum(-1)).mean().backward()
    norm = torch.nn.utils.clip_grad_norm_(list(ddp_model.parameters()), max_norm, norm_type=2.0)
    optimizer.step()
    return float(norm)
