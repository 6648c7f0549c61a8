"""diagnosis: wrong-type

Half precision cannot hold the answer."""


def squared_error_gradients(w, targets):
    return (w - targets).half()
