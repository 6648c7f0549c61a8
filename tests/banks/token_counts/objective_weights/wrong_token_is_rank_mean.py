"""diagnosis: mean-of-rank-means

Takes DDP's mean of cross_entropy for the token mean."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        return [[1 / (active * sum(row)) if n else 0.0 for n in row] for row in lengths]
    if objective == "sequence":
        return [[1 / (sequences * n) if n else 0.0 for n in row] for row in lengths]
    return [[1 / (active * sum(row)) if n else 0.0 for n in row] for row in lengths]
