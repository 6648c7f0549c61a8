"""diagnosis: wrong-type

Prints the answer and returns nothing."""


def squared_error_gradients(w, targets):
    print(w - targets)
