"""Reduce-scatter and all-gather, with padding to a multiple of P."""

import torch
import torch.distributed as dist
import torch.nn.functional as F


def synchronized_item_mean(local_gradients):
    world_size, width = dist.get_world_size(), local_gradients.shape[1] + 1
    packed = torch.cat([local_gradients.sum(0), torch.tensor([float(len(local_gradients))])])
    packed = F.pad(packed, (0, -width % world_size))
    piece = packed.new_empty(len(packed) // world_size)
    dist.reduce_scatter_tensor(piece, packed)
    dist.all_gather_into_tensor(packed, piece)
    return packed[: width - 1] / packed[width - 1]
