"""diagnosis: pure-scale

Differentiates (w − y)² and forgets the ½: every gradient is doubled."""


def squared_error_gradients(w, targets):
    return 2 * (w - targets)
