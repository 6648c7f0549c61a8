"""diagnosis: global-divisor-then-mean

Divides by N on every rank and forgets that DDP divides by P on top: the P-fold too small gradient."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss / total).backward()
    optimizer.step()
