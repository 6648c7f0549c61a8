"""diagnosis: pure-scale

Keeps the ½ of the loss in the derivative, where the exponent has cancelled it."""


def squared_error_gradients(w, targets):
    return 0.5 * (w - targets)
