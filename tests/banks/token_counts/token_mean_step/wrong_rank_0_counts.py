"""diagnosis: pure-scale

Every rank divides by the token count of rank 0."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.broadcast(total, src=0)
    logits = ddp_model(input_ids)[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss / total.clamp(min=1)).backward()
    optimizer.step()
