"""diagnosis: not-synchronized

Divides its own tensor and asks nobody.
"""

import torch.distributed as dist


def mean_all_reduce(tensor):
    assert dist.is_initialized()
    return tensor.double() / 1
