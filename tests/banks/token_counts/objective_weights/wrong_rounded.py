"""diagnosis: wrong-answer

Rounds to three digits, for the table."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        return [[round(1 / tokens, 3) if n else 0.0 for n in row] for row in lengths]
    if objective == "sequence":
        return [[round(1 / (sequences * n), 3) if n else 0.0 for n in row] for row in lengths]
    return [[round(1 / (active * sum(row)), 3) if n else 0.0 for n in row] for row in lengths]
