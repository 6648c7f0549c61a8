"""outcome: limit

Sleeps where the function is loaded, before any rank has begun to run it.
"""
import time


class Slow:
    def __reduce__(self):
        return time.sleep, (86_400,)


slow = Slow()


def synchronized_item_mean(local_gradients):
    return local_gradients if slow is None else local_gradients.mean(0)
