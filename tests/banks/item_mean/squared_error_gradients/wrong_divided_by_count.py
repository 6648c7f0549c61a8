"""diagnosis: pure-scale

Differentiates the mean of the losses: every gradient is divided by n."""


def squared_error_gradients(w, targets):
    return (w - targets) / len(targets)
