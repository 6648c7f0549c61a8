"""outcome: right

Uses functional collectives, which return tensors of a class that PyTorch makes.
"""
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional


def synchronized_item_mean(local_gradients):
    packed = torch.cat([local_gradients.double().sum(0), torch.tensor([float(len(local_gradients))]).double()])
    total = functional.all_reduce(packed, "sum", dist.group.WORLD)
    return (total[:-1] / total[-1]).to(local_gradients.dtype)
