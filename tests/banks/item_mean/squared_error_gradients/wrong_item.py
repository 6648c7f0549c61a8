"""diagnosis: raised

.item() of a tensor with several elements."""


def squared_error_gradients(w, targets):
    return w - targets.item()
