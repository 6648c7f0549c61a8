"""diagnosis: gradients-lost | changed-its-argument

Calls backward itself: the caller's backward finds the graph gone."""

import torch.nn.functional as F


def token_loss_sum(logits, labels, ignore_index=-100):
    flat, targets = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    loss = F.cross_entropy(flat, targets, ignore_index=ignore_index, reduction="sum")
    loss.backward()
    return loss
