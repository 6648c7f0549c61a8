"""diagnosis: wrong-answer

Compares bytes: 0.0 and −0.0 are equal and have different ones."""

import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor.detach().numpy().tobytes())
    return all(copy == copies[0] for copy in copies)
