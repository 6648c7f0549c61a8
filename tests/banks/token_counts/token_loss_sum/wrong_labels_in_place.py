"""diagnosis: changed-its-argument

Masks the caller's labels to be able to gather."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    valid = labels[:, 1:] != ignore_index
    labels.masked_fill_(labels == ignore_index, 0)
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:], reduction="none")
    return losses[valid].sum()
