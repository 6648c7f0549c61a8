"""outcome: error

Calls the function something else.
"""
globals().pop("synchronized_item_mean", None)


def synchronised_item_mean(local_gradients):
    return local_gradients.mean(0)
