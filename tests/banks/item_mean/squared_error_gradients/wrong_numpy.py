"""diagnosis: wrong-type

Forgets to turn the NumPy array back into a tensor."""


def squared_error_gradients(w, targets):
    return w.detach().numpy() - targets.detach().numpy()
