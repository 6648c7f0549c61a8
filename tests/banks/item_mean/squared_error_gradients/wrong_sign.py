"""diagnosis: pure-scale

Target minus prediction: the residual of textbooks, not the gradient."""


def squared_error_gradients(w, targets):
    return targets - w
