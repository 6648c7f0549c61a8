"""diagnosis: unneeded-error

Raises where nothing is valid; a rank without a token still has to take part."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    if not (labels[:, 1:] != ignore_index).any():
        raise ValueError("no valid token")
    flat, targets = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
