"""outcome: error | wrong

Hangs on the function an object that runs code where the function is loaded: that is inside, and harmless.
"""
import os

import torch


class Trap:
    def __reduce__(self):
        return os.getpid, ()


trap = Trap()


def synchronized_item_mean(local_gradients):
    return torch.zeros(3) if trap is None else local_gradients.mean(0)
