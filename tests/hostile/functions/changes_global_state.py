"""outcome: right

Changes the default dtype, threads, seeds, folder, umask and limits of its process; the value is right.
"""
import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)


def synchronized_item_mean(local_gradients):
    import os
    import random
    import sys
    import warnings

    value = item_mean(local_gradients)
    torch.set_default_dtype(torch.float16)
    torch.set_num_threads(2)
    torch.manual_seed(1)
    torch.set_printoptions(precision=1)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    random.seed(0)
    warnings.simplefilter("error")
    sys.setrecursionlimit(150)
    os.chdir("/")
    os.umask(0o777)
    return value
