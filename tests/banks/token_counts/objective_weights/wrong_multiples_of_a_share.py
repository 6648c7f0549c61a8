"""diagnosis: pure-scale | never-divided

What the pictures show: weight · N."""


def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(objective)
    tokens = sum(map(sum, lengths))
    sequences = sum(length > 0 for row in lengths for length in row)
    active = sum(sum(row) > 0 for row in lengths)

    def multiple(row, length):
        divisor = {"token": tokens, "sequence": sequences * length, "rank": active * sum(row)}[objective]
        return tokens / divisor if length else 0.0

    return [[multiple(row, length) for length in row] for row in lengths]
