"""numpy.array_equal knows equal_nan."""

import numpy as np
import torch.distributed as dist


def is_synchronized(tensor):
    copies = [None] * dist.get_world_size()
    dist.all_gather_object(copies, tensor.detach().numpy())
    return all([np.array_equal(copies[0], copy, equal_nan=True) for copy in copies])
