"""outcome: limit

Rank 1 never ends; the others wait for it.
"""
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    while dist.get_rank() == 1:
        pass
    dist.barrier()
    return local_gradients.mean(0)
