"""diagnosis: wrong-answer

The right value with twice its gradient: a detached copy was added and the live one doubled."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    flat, targets = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    loss = F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
    return 2 * loss - loss.detach()
