"""outcome: wrong

Returns a view of 2^40 elements.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.zeros(1).expand(2**40)
