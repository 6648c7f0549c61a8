"""functools.partial of a decorated lambda."""

import functools


def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


squared_error_gradients = functools.partial(logged(lambda scale, w, targets: scale * (w - targets)), 1)
