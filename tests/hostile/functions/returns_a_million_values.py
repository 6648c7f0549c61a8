"""outcome: limit | error | wrong

Returns a list of millions of values, each of which somebody must read.
"""


def synchronized_item_mean(local_gradients):
    return [None] * 3_000_000
