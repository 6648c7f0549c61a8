"""Everybody sends to rank 0, which answers everybody."""

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    box = torch.cat([local_gradients.sum(0), torch.tensor([float(len(local_gradients))])])
    if rank:
        dist.send(box, dst=0)
        dist.recv(box, src=0)
        return box[:-1]
    for other in range(1, world_size):
        letter = torch.empty_like(box)
        dist.recv(letter, src=other)
        box += letter
    box[:-1] /= box[-1].clone()
    for other in range(1, world_size):
        dist.send(box, dst=other)
    return box[:-1]
