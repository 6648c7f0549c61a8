"""outcome: wrong

Returns nothing.
"""
def synchronized_item_mean(local_gradients):
    return None
