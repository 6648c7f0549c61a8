"""diagnosis: wrong-type

A list of numbers where a tensor is asked for."""


def squared_error_gradients(w, targets):
    return [float(w - y) for y in targets]
