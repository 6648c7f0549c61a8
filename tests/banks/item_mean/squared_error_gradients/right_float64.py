"""Works in float64 and returns float64, whatever came in."""


def squared_error_gradients(w, targets):
    return w.double() - targets.double()
