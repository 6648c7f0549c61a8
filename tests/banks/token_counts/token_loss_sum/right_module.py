"""CrossEntropyLoss as a module."""

import torch


def token_loss_sum(logits, labels, ignore_index=-100):
    criterion = torch.nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="sum")
    return criterion(logits[:, :-1].flatten(end_dim=1), labels[:, 1:].flatten())
