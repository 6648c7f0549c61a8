"""outcome: right

Takes the group down and makes another; the value is right.
"""
import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)


def synchronized_item_mean(local_gradients):
    value = item_mean(local_gradients)
    dist.barrier()
    dist.destroy_process_group()
    return value
