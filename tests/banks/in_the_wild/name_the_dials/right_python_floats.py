"""Plain Python, compared number by number."""

import math
from itertools import product

DIVISORS = {"nothing": lambda *_: 1, "microbatch": lambda n, *_: n, "rank": lambda n, n_r, _: n_r,
            "window": lambda *counts: counts[2]}


def name_the_dials(weights, window):
    own = [(n, sum(row), len(row)) for row in window.counts for n in row for _ in range(n)]
    given = weights.tolist()
    for divisor, micro, ranks in product(DIVISORS, (1, 0), (1, 0)):
        wanted = [1 / (DIVISORS[divisor](n, n_r, len(own)) * k**micro * len(window.counts)**ranks) for n, n_r, k in own]
        if all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(wanted, given, strict=True)):
            return [divisor, ("sum", "mean")[micro], ("sum", "mean")[ranks]]
    raise ValueError("none fits")
