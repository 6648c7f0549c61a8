"""Tensors of each row, back to lists at the end."""

import torch


def objective_weights(lengths, objective):
    if objective not in ("token", "sequence", "rank"):
        raise ValueError(f"unknown objective {objective!r}")
    rows = [torch.tensor(row, dtype=torch.float64) for row in lengths]
    every = torch.cat([torch.zeros(0, dtype=torch.float64), *rows])
    held = (every > 0).sum()
    active = sum(bool(row.sum() > 0) for row in rows)
    result = []
    for row in rows:
        divisor = {"token": every.sum() * torch.ones_like(row), "sequence": held * row,
                   "rank": active * row.sum() * torch.ones_like(row)}[objective]
        result.append(torch.where(row > 0, 1 / divisor, 0.0).tolist())
    return result
