"""diagnosis: wrong-shape

A column [n, 1], which would broadcast against [n]."""


def squared_error_gradients(w, targets):
    return (w - targets).unsqueeze(1)
