"""outcome: error

Reads from address 0.
"""
import ctypes


def synchronized_item_mean(local_gradients):
    ctypes.string_at(0)
