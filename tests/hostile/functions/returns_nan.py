"""outcome: wrong

Returns numbers that are no numbers.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.full((local_gradients.shape[1],), float("nan"), dtype=local_gradients.dtype)
