"""An asynchronous sum of a float32 copy, and a wait."""

import torch
import torch.distributed as dist


def mean_all_reduce(tensor):
    total = torch.empty(tensor.shape, dtype=torch.float64 if tensor.dtype == torch.float64 else torch.float32)
    total.copy_(tensor)
    work = dist.all_reduce(total, async_op=True)
    work.wait()
    return total.div_(dist.get_world_size())
