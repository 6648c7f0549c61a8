"""diagnosis: wrong-shift

Cuts two positions off, as if the caller had not shifted enough."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    flat, targets = logits[:, :-2].flatten(0, 1), labels[:, 2:].flatten()
    return F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
