"""outcome: error

Writes to its own channel an answer nested a hundred thousand deep.
"""
import socket
import struct


def synchronized_item_mean(local_gradients):
    with socket.socket(fileno=3) as channel:
        channel.sendall(struct.pack("<Q", 900_000) + (b"l" + struct.pack("<Q", 1)) * 100_000)
    return local_gradients
