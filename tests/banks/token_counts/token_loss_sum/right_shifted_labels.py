"""The labels are moved one place and filled with ignore_index: no logit is cut off."""

import torch
import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    shifted = torch.full_like(labels, ignore_index)
    shifted[:, :-1] = labels[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), shifted.reshape(-1), reduction="sum",
                           ignore_index=ignore_index)
