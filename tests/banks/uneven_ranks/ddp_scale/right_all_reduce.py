"""The count summed in an int64 tensor."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    total = torch.tensor(local_count)
    dist.all_reduce(total)
    if total.item() == 0:
        raise ValueError("no rank has an item")
    return dist.get_world_size() * local_count / total.item()
