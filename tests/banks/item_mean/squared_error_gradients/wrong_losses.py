"""diagnosis: unexplained | wrong-answer

Returns the losses, not their derivatives."""


def squared_error_gradients(w, targets):
    return 0.5 * (w - targets) ** 2
