"""diagnosis: wrong-type

A tensor of the right shape without any numbers in it."""


def squared_error_gradients(w, targets):
    return (w - targets).to("meta")
