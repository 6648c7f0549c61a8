"""Random windows and gradients, for hypothesis and for plain loops over seeds."""

from __future__ import annotations

import random

import torch
from hypothesis import strategies as st
from torch import Tensor

from autograder.window import UpdateWindow


def counts(max_ranks: int = 4, max_microbatches: int = 3, max_items: int = 5) -> st.SearchStrategy:
    """counts[r][k] with at least one item; ranks differ in K_r; ranks and microbatches may be empty."""
    row = st.lists(st.integers(0, max_items), min_size=1, max_size=max_microbatches)
    return st.lists(row, min_size=1, max_size=max_ranks).filter(lambda table: any(map(any, table)))


def windows(**limits) -> st.SearchStrategy:
    return counts(**limits).map(UpdateWindow.from_counts)


def random_counts(rng: random.Random, max_items: int = 4) -> list[list[int]]:
    """The same, for loops: uneven, equal and nearly empty tables all occur."""
    ranks, steps = rng.choice([1, 2, 2, 3, 4]), rng.choice([1, 1, 2, 3])
    kind = rng.choice(["uneven", "uneven", "uneven", "equal", "ragged"])
    each = rng.randint(1, max_items)
    table = [[each if kind == "equal" else rng.randint(0, max_items)
              for _ in range(rng.randint(1, steps) if kind == "ragged" else steps)] for _ in range(ranks)]
    if not any(map(any, table)):
        table[0][0] = each
    return table


def random_window(rng: random.Random) -> UpdateWindow:
    """Random counts, now and then with the facts that special settings need."""
    table = random_counts(rng)
    facts: dict = {}
    extra = rng.choice(["", "", "", "padding", "weights", "partial", "sequences", "nominal", "groups",
                        "shift"])
    if extra == "padding":
        facts["padding"] = [[rng.randint(0, 3) for _ in row] for row in table]
    if extra == "weights":
        facts["sample_weights"] = [[[rng.choice([0.25, 0.5, 1.0, 2.0, 3.0]) for _ in range(n)] for n in row]
                                   for row in table]
    if extra == "partial":
        facts["accumulation_steps"] = max(map(len, table)) + rng.randint(1, 2)
    if extra == "nominal":
        facts["nominal_batch_size"] = rng.randint(2, 6)
    if extra == "groups" and len(table) == 4:
        facts["groups"] = rng.choice([((0, 1), (2, 3)), ((0, 2), (1, 3))])
    if extra == "shift":
        facts["unshifted_counts"] = [[n + rng.randint(0, 2) for n in row] for row in table]
    if extra == "sequences":
        facts["sequence"] = tuple(rng.randint(0, 2) for row in table for n in row for _ in range(n))
    return UpdateWindow.from_counts(table, **facts)


def generic_gradients(items: int, width: int = 6, seed: int = 0) -> Tensor:
    """[items, width] float64 without any relation between them."""
    return torch.randn(items, width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
