"""Divides and mends: a sequence without a token has no weight."""

def objective_weights(lengths, objective):
    flat = [n for row in lengths for n in row if n > 0]
    active = len([row for row in lengths if any(row)])

    def weight(n, row):
        if n == 0:
            return 0.0
        if objective == "token":
            return 1 / sum(flat)
        if objective == "sequence":
            return 1 / len(flat) / n
        return 1 / active / sum(row)

    if objective in ("token", "sequence", "rank"):
        return [[weight(n, row) for n in row] for row in lengths]
    raise ValueError("token, sequence or rank")
