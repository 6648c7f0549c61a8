"""Relative votes first, then one normalisation, so that all tokens' weights sum to 1."""

def objective_weights(lengths, objective):
    if objective == "token":
        votes = [[1.0 if n else 0.0 for n in row] for row in lengths]
    elif objective == "sequence":
        votes = [[1.0 / n if n else 0.0 for n in row] for row in lengths]
    elif objective == "rank":
        votes = [[1.0 / sum(row) if n else 0.0 for n in row] for row in lengths]
    else:
        raise ValueError(f"no such objective: {objective}")
    total = sum(v * n for row, own in zip(votes, lengths, strict=True) for v, n in zip(row, own, strict=True))
    return [[v / total if total else 0.0 for v in row] for row in votes]
