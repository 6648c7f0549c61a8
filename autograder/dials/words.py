"""Numbers and names of ranks as sentences show them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from torch import Tensor


def number(value: float | Tensor, digits: int = 4) -> str:
    """1/12 where that is exact and short, else four digits: any number is close to some long fraction."""
    value = float(value)
    fraction = Fraction(value).limit_denominator(5000) if math.isfinite(value) else Fraction(5001)
    short = fraction.denominator == 1 or abs(fraction.numerator) <= 20 or max(
        abs(fraction.numerator), fraction.denominator) < 1000
    if short and math.isclose(float(fraction), value, rel_tol=1e-9):
        return str(fraction)
    return f"{value:.{digits}g}"


def told_apart(one: float | Tensor, other: float | Tensor) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    pairs = [(number(one, digits), number(other, digits)) for digits in (4, 6, 9)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def items_words(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def spread(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def ranks_words(ranks: Sequence[int]) -> str:
    *before, last = map(str, ranks)
    return f"ranks {', '.join(before)} and {last}" if before else f"rank {last}"


def rank_list(counts: Sequence[int]) -> str:
    if len(counts) <= 3:
        return ", ".join(f"{count} on rank {r}" for r, count in enumerate(counts))
    shown = ", ".join(map(str, counts[:8])) + (", …" if len(counts) > 8 else "")
    return f"on ranks 0 to {len(counts) - 1}: {shown}"


def microbatch_list(table: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"rank {r}: {'+'.join(map(str, row)) or '0'}" for r, row in enumerate(table[:4]))
    return shown + (", …" if len(table) > 4 else "")
