"""outcome: wrong

Returns a sparse tensor.
"""
import torch


def synchronized_item_mean(local_gradients):
    return torch.zeros(local_gradients.shape[1]).to_sparse()
