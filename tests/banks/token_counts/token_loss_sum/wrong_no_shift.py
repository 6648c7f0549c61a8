"""diagnosis: wrong-shift

No shift: position t predicts label t, the token that it has read."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    flat, targets = logits.flatten(0, 1), labels.flatten()
    return F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
