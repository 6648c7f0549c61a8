"""diagnosis: not-implemented

The stub, as it is released."""


def effective_weights(update, item_gradients):
    raise NotImplementedError()
