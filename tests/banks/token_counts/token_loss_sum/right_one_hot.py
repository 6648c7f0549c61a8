"""Log-probabilities against one-hot rows by einsum; ignored targets have a row of zeros."""

import torch
import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    targets = labels[:, 1:]
    valid = targets != ignore_index
    hot = F.one_hot(torch.where(valid, targets, 0), logits.shape[-1]) * valid[..., None]
    return -torch.einsum("btv,btv->", logits[:, :-1].log_softmax(-1), hot.to(logits.dtype))
