"""outcome: right

Prints a lot to both streams, warns and logs.
"""
import logging
import sys
import warnings

import torch
import torch.distributed as dist


def item_mean(local_gradients):
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)



def synchronized_item_mean(local_gradients):
    for number in range(3000):
        print("progress", number, "of 3000", flush=number % 100 == 0)
        print("trace", number, file=sys.stderr)
    warnings.warn("deprecated in this course", DeprecationWarning, stacklevel=2)
    logging.getLogger("learner").error("not an error")
    return item_mean(local_gradients)
