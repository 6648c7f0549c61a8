"""diagnosis: unexplained | wrong-answer

A gradient has a sign; an error's size has not."""


def squared_error_gradients(w, targets):
    return (w - targets).abs()
