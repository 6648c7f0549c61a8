"""outcome: wrong

Returns the mean of its own items without communicating: right if the ranks held the same.
"""


def synchronized_item_mean(local_gradients):
    return local_gradients.mean(0)
