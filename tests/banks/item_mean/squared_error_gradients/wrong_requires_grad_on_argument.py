"""diagnosis: changed-its-argument

Calls requires_grad_ on the caller's w and leaves it, and a gradient, behind."""


def squared_error_gradients(w, targets):
    w.requires_grad_()
    (0.5 * (w - targets) ** 2).sum().backward()
    return w.detach() - targets
