"""diagnosis: wrong-answer

any where all was meant: one equal element is enough."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    equal = [(copy == copies[0]) | (copy.isnan() & copies[0].isnan()) for copy in copies]
    return bool(torch.stack(equal).all(0).any())
