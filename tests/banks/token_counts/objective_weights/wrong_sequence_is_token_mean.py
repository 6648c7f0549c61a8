"""diagnosis: wrong-answer

Gives every token 1/N whatever is asked: two of three objectives are others."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    if objective == "token":
        return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
    if objective == "sequence":
        return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
    return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
