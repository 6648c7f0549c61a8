"""diagnosis: changed-its-argument | wrong-shape

Removes the empty sequences from the caller's lists first."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    for row in lengths:
        row[:] = [n for n in row if n]
    tokens, sequences = sum(map(sum, lengths)), sum(map(len, lengths))
    active = sum(bool(row) for row in lengths)
    divisor = {"token": lambda n, row: tokens, "sequence": lambda n, row: sequences * n,
               "rank": lambda n, row: active * sum(row)}[objective]
    return [[1 / divisor(n, row) for n in row] for row in lengths]
