"""diagnosis: not-synchronized

Never communicates."""


def synchronized_item_mean(local_gradients):
    return local_gradients.sum(0) / max(len(local_gradients), 1)
