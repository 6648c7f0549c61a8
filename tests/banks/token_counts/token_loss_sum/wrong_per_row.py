"""diagnosis: wrong-shape

One sum for each row."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:], ignore_index=ignore_index, reduction="none")
    return losses.sum(dim=1)
