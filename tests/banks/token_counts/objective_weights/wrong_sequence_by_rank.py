"""diagnosis: mean-of-rank-means

Averages the sequences of each rank, then the ranks: the partition decides."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
    if objective == "sequence":
        return [[1 / (len(lengths) * sum(m > 0 for m in row) * n) if n else 0.0 for n in row] for row in lengths]
    return [[1 / (active * sum(row)) if n else 0.0 for n in row] for row in lengths]
