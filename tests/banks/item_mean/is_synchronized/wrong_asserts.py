"""diagnosis: raised

Raises when ranks differ, where False was asked for."""

import torch
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor)
    for copy in copies:
        torch.testing.assert_close(copy, copies[0], rtol=0, atol=0, equal_nan=True)
    return True
