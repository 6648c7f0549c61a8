"""outcome: right

Does the algebra in numpy and comes back with from_numpy.
"""
import numpy
import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    packed = numpy.append(local_gradients.double().numpy().sum(axis=0), float(len(local_gradients)))
    total = torch.from_numpy(packed)
    dist.all_reduce(total)
    return torch.from_numpy(total.numpy()[:-1] / total.numpy()[-1]).to(local_gradients.dtype)
