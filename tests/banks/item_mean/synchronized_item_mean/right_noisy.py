"""Prints a lot on both streams, warns, logs and changes global settings."""

import logging
import sys
import warnings

import torch
import torch.distributed as dist


def synchronized_item_mean(local_gradients):
    print(f"rank {dist.get_rank()} has {len(local_gradients)} items")
    print("working\n" * 200, file=sys.stderr)
    warnings.warn("this is only a warning", stacklevel=2)
    logging.basicConfig()
    logging.warning("logged")
    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    total, count = local_gradients.sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count
