"""Log-probabilities times one-hot targets, with zeros where a target is ignored."""

import torch
import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    targets = labels[:, 1:]
    kept = targets != ignore_index
    log_p = F.log_softmax(logits[:, :-1], -1)
    hot = F.one_hot(targets.where(kept, 0).long(), logits.shape[-1]).to(log_p) * kept.unsqueeze(-1)
    return torch.einsum("btv,btv->", -log_p, hot)
