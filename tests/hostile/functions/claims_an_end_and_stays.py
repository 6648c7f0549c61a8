"""outcome: limit

Sends its result itself and does not return: the next trial needs another group, and its ranks do not come.
"""
import os
import struct
import time

from autograder.ranks import wire


def synchronized_item_mean(local_gradients):
    result = {"value": local_gradients.mean(0), "arguments": (local_gradients,), "gradients": [None],
              "requires_grad": [False]}
    body = wire.encode({"did": "returned", "result": wire.encode(result), "calls": [], "own_group": True})
    os.write(3, struct.pack("<Q", len(body)) + body)
    time.sleep(86_400)
