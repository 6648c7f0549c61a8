"""outcome: error

Writes to its own channel an answer with fields of other types.
"""
import os
import struct

from autograder.ranks import wire


def framed(answer):
    body = wire.encode(answer)
    return struct.pack("<Q", len(body)) + body


def synchronized_item_mean(local_gradients):
    os.write(3, framed({"did": "returned", "result": 3, "calls": [{"name": 1}], "own_group": "yes"}))
    return local_gradients
