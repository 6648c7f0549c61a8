"""outcome: limit | error

Writes to its own channel an answer says that 2^40 bytes will come.
"""
import os
import struct

from autograder.ranks import wire


def framed(answer):
    body = wire.encode(answer)
    return struct.pack("<Q", len(body)) + body


def synchronized_item_mean(local_gradients):
    os.write(3, struct.pack("<Q", 2**40))
    return local_gradients
