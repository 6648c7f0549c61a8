"""diagnosis: overflow-or-truncation | unexplained | wrong-answer

Rounds to whole numbers, as in the worked example."""


def squared_error_gradients(w, targets):
    return (w - targets).round()
