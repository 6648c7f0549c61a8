"""diagnosis: changed-its-argument

Subtracts the maximum from the caller's logits, for stability."""

import torch
import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    with torch.no_grad():
        if logits.numel():
            logits -= logits.amax(-1, keepdim=True)
    flat, targets = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
