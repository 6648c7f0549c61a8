"""diagnosis: wrong-type

A tensor for each rank where lists are asked."""

import torch


def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    tokens = sum(map(sum, lengths))
    sequences = sum(n > 0 for row in lengths for n in row)
    active = sum(sum(row) > 0 for row in lengths)
    if objective == "token":
        rows = [[1 / tokens if n else 0.0 for n in row] for row in lengths]
    elif objective == "sequence":
        rows = [[1 / (sequences * n) if n else 0.0 for n in row] for row in lengths]
    else:
        rows = [[1 / (active * sum(row)) if n else 0.0 for n in row] for row in lengths]
    return [torch.tensor(row) for row in rows]
