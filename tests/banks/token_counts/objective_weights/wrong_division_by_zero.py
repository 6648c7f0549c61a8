"""diagnosis: raised

Divides before it looks: 1/0 where a sequence has no token."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        return [[1 / tokens for n in row] for row in lengths]
    if objective == "sequence":
        return [[1 / (sequences * n) for n in row] for row in lengths]
    return [[1 / (active * sum(row)) for n in row] for row in lengths]
