"""outcome: error

The last rank raises; the others wait. The exception is the reason, not the wait.
"""
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    if dist.get_rank() == dist.get_world_size() - 1:
        raise RuntimeError("this rank is out")
    dist.barrier()
