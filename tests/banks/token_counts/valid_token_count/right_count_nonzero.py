"""torch.count_nonzero of the difference."""

import torch


def valid_token_count(labels, ignore_index=-100):
    return torch.count_nonzero(labels[:, 1:] - ignore_index).item()
