"""diagnosis: pure-scale | active-ranks | wrong-answer

Counts only the ranks that have items, but DDP divides by all of them."""

import torch
import torch.distributed as dist


def ddp_scale(local_count):
    box = torch.tensor([local_count, int(local_count > 0)])
    dist.all_reduce(box)
    if not box[0]:
        raise ValueError
    return local_count * int(box[1]) / int(box[0])
