"""diagnosis: wrong-exception

Another objective is a KeyError from a dictionary."""

def objective_weights(lengths, objective):
    tokens = sum(map(sum, lengths))
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    weight = {"token": lambda n, row: 1 / tokens, "sequence": lambda n, row: 1 / (sequences * n),
              "rank": lambda n, row: 1 / (active * sum(row))}[objective]
    return [[weight(n, row) if n else 0.0 for n in row] for row in lengths]
