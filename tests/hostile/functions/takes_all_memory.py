"""outcome: limit

Asks for memory until it gets no more.
"""
def synchronized_item_mean(local_gradients):
    taken = []
    for _ in range(64):
        taken.append(bytearray(2**26))
    return local_gradients
