"""A divisor for each sequence; sequences without a token get 0.0."""

def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    sequences = sum(length > 0 for row in lengths for length in row)
    active = sum(sum(row) > 0 for row in lengths)
    weights = []
    for row in lengths:
        divisor = {"token": lambda n, own=row: tokens, "sequence": lambda n, own=row: sequences * n,
                   "rank": lambda n, own=row: active * sum(own)}[objective]
        weights.append([1 / divisor(n) if n else 0.0 for n in row])
    return weights
