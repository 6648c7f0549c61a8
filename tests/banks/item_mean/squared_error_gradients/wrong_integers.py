"""diagnosis: wrong-type

Whole numbers only: the worked example is whole, so it looks right there."""


def squared_error_gradients(w, targets):
    return (w - targets).long()
