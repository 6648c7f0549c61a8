"""diagnosis: changed-its-argument

Saves a temporary and writes into the targets of the caller."""


def squared_error_gradients(w, targets):
    return targets.neg_().add_(w.detach())
