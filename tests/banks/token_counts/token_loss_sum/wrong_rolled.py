"""diagnosis: wrong-shift

torch.roll lets the last position of a row predict the first label."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    flat, targets = logits.flatten(0, 1), labels.roll(-1, dims=1).flatten()
    return F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
