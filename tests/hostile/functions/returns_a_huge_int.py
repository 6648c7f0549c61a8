"""outcome: wrong

Returns an integer that no float can hold.
"""
def synchronized_item_mean(local_gradients):
    return 10**400
