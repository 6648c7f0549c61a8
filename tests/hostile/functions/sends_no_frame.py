"""outcome: error

Writes to its own channel an answer whose body is no frame.
"""
import os
import struct

from autograder.ranks import wire


def framed(answer):
    body = wire.encode(answer)
    return struct.pack("<Q", len(body)) + body


def synchronized_item_mean(local_gradients):
    os.write(3, struct.pack("<Q", 8) + b"nonsense")
    return local_gradients
