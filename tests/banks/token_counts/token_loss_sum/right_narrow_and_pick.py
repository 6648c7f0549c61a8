"""Only the valid places are looked at, in float64."""

import torch


def token_loss_sum(logits, labels, ignore_index=-100):
    rows, places = (labels[:, 1:] != ignore_index).nonzero(as_tuple=True)
    picked = logits[rows, places].to(torch.float64)
    at = picked[torch.arange(len(rows)), labels[rows, places + 1]]
    return (torch.logsumexp(picked, -1) - at).sum()
