"""outcome: wrong

Returns a tensor without values.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.empty(local_gradients.shape[1], device="meta")
