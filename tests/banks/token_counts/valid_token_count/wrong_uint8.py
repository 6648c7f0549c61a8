"""diagnosis: wrong-answer | overflow-or-truncation

Adds in 8 bits, to save memory: beyond 255 the count begins again at 0."""

import torch


def valid_token_count(labels, ignore_index=-100):
    return int((labels[:, 1:] != ignore_index).sum(dtype=torch.uint8))
