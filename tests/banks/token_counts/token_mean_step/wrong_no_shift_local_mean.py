"""diagnosis: wrong-shift

No shift, and each rank's own mean over the labels that it took."""

import torch.distributed as dist
import torch.nn.functional as F


def token_mean_step(ddp_model, input_ids, labels, optimizer):
    total = (labels[:, 1:] != -100).sum()
    dist.all_reduce(total)
    if total == 0:
        raise ValueError("no rank has a valid token")
    logits = ddp_model(input_ids)
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum")
    optimizer.zero_grad()
    (loss / (labels != -100).sum().clamp(min=1)).backward()
    optimizer.step()
