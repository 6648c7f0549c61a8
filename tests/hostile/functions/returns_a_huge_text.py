"""outcome: limit | error | wrong

Returns 256 MiB of text.
"""
def synchronized_item_mean(local_gradients):
    return "x" * 2**28
