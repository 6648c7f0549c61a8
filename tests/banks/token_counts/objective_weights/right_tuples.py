"""Tuples in place of lists, and match on the objective by a chain of ifs."""

def objective_weights(lengths, objective):
    tokens = sum(n for row in lengths for n in row)
    if objective == "token":
        return tuple(tuple(bool(n) / max(tokens, 1) for n in row) for row in lengths)
    if objective == "sequence":
        count = sum(1 for row in lengths for n in row if n)
        return tuple(tuple(0.0 if not n else 1 / (count * n) for n in row) for row in lengths)
    if objective == "rank":
        ranks = sum(1 for row in lengths if sum(row))
        return tuple(tuple(0.0 if not n else 1 / (ranks * sum(row)) for n in row) for row in lengths)
    raise ValueError(objective)
