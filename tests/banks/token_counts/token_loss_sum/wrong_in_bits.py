"""diagnosis: pure-scale

Logarithms to base 2."""

import math

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten().long(), ignore_index=ignore_index,
                           reduction="sum")
    return loss / math.log(2)
