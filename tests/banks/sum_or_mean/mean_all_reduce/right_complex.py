"""Sum and number of ranks as the two parts of complex numbers."""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    both = torch.complex(tensor.double(), torch.ones_like(tensor, dtype=torch.float64))
    dist.all_reduce(both)
    return both.real / both.imag
