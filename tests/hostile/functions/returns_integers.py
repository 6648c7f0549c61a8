"""outcome: wrong

Returns integers.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.zeros(local_gradients.shape[1], dtype=torch.int64)
