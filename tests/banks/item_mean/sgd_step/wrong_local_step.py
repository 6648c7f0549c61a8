"""diagnosis: not-synchronized

Every rank steps on its own targets."""


def sgd_step(w, local_targets, lr):
    return w - lr * (w - local_targets).sum() / max(len(local_targets), 1)
