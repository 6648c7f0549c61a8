"""diagnosis: raised | padding-counted

ignore_index is not handed on: with another one its targets are learnt, or are no token at all."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
