"""diagnosis: unneeded-error

Raises where there is no token; the contract asks for zeros."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    if not sum(map(sum, lengths)):
        raise ValueError("no token at all")
    tokens = sum(map(sum, lengths))
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
    if objective == "sequence":
        return [[1 / (sequences * n) if n else 0.0 for n in row] for row in lengths]
    return [[1 / (active * sum(row)) if n else 0.0 for n in row] for row in lengths]
