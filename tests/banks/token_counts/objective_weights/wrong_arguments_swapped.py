"""diagnosis: raised

Takes the objective for the lengths."""

def objective_weights(objective, lengths):
    tokens = sum(map(sum, lengths))
    return [[1 / tokens if n else 0.0 for n in row] for row in lengths]
