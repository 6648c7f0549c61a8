"""NumPy: one array for each setting, the nearest one, then a look at how near it is."""

from itertools import product

import numpy as np


def name_the_dials(weights, window):
    n = np.repeat([n for row in window.counts for n in row], [n for row in window.counts for n in row]).astype(float)
    n_r = np.repeat([sum(row) for row in window.counts], [sum(row) for row in window.counts]).astype(float)
    k = np.repeat([len(row) for row in window.counts], [sum(row) for row in window.counts]).astype(float)
    settings = {}
    steps, ranked = (("sum", 1.0), ("mean", k)), (("sum", 1), ("mean", len(window.counts)))
    for name, divisor in (("nothing", 1.0), ("microbatch", n), ("rank", n_r), ("window", float(len(n)))):
        for (micro, by_k), (ranks, by_p) in product(steps, ranked):
            settings[name, micro, ranks] = 1 / (divisor * by_k * by_p) * np.ones(len(n))
    given = weights.numpy()
    away = {names: np.abs(predicted / given - 1).max() for names, predicted in settings.items()}
    best = min(away, key=away.get)
    if away[best] > 1e-6:
        raise ValueError("none fits")
    return best
