"""Losses of all places, masked by index, summed."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    targets = labels[:, 1:]
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=ignore_index, reduction="none")
    return losses[targets != ignore_index].sum()
