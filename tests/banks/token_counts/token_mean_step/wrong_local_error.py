"""diagnosis: missing-error | deadlock | unneeded-error

Only ranks without rows raise; where nobody has a valid token the step divides by zero."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    if total == 0 and len(labels) == 0:
        raise ValueError("no rows")
    optimizer.zero_grad()
    (loss * dist.get_world_size() / total).backward()
    optimizer.step()
