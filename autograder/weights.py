"""Recover the effective weight of every item from an update: solve u = Σ w_i g_i for w.

Rows are scaled to length 1, then a QR and an SVD solve the least-squares problem. What the gradients cannot
tell is said, never guessed: equal gradients have only a common sum, dependent ones no weight at all, and an
update outside the span of the gradients is no weighted sum of this window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

TIE_TOLERANCE = 1e-10  # rows this close, relative to their length, are one gradient
RANK_TOLERANCE = 1e-11  # singular values below this share of the largest count as zero
# An update is "a weighted sum" up to this relative residual, by the precision it was computed in.
SPAN_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-4, torch.float16: 5e-2, torch.bfloat16: 5e-2}


@dataclass(frozen=True, eq=False)
class Recovery:
    """What an update says about the weights of n items.

    weights: [n] float64; NaN where an item's own weight cannot be told.
    identifiable: [n] bool, True where it can.
    ties: the item indices whose gradients are equal, only their sum of weights can be told.
    tie_sums: that sum for each tie; NaN if not even the sum can be told.
    unidentifiable: item indices without any answer: zero gradient, or dependent on other gradients.
    group_weights: {group: weight} when groups were given; `weights` then repeats it for each item.
    nuisance: coefficients of the nuisance directions.
    residual: ‖u − Σ w_i g_i‖ / ‖u‖. checked: whether it means anything (more equations than unknowns).
    condition: of the row-normalised gradients.
    error: [n], the estimated standard error of each weight; use ten times it as a tolerance.
    is_weighted_sum: False when the residual is too large; weights are NaN then.
    notes: sentences for people.
    """

    weights: Tensor
    identifiable: Tensor
    ties: tuple[tuple[int, ...], ...]
    tie_sums: tuple[float, ...]
    unidentifiable: tuple[int, ...]
    group_weights: dict[int, float] | None
    nuisance: Tensor
    residual: float
    checked: bool
    condition: float
    error: Tensor
    is_weighted_sum: bool
    notes: tuple[str, ...]

    def __str__(self) -> str:
        told = int(self.identifiable.sum())
        head = f"{told} of {len(self.weights)} weights recovered, residual {self.residual:.1e}, " \
               f"condition {self.condition:.1e}"
        return "\n".join([head, *self.notes])


def recover_weights(
    update: Tensor | Sequence[Tensor],
    item_gradients: Tensor | Sequence[Tensor],
    *,
    groups: Tensor | Sequence[int] | None = None,
    nuisance: Tensor | Sequence[Tensor] | None = None,
    rtol: float | None = None,
) -> Recovery:
    """The weights w [n] with update [D] = Σ w_i · item_gradients[i], item_gradients [n, D].

    Lists of both (one entry per parameter point of the same layout) are stacked: more equations for the
    same weights. `groups` [n], such as `UpdateWindow.item_groups`, asks for one weight per group instead of
    one per item. `nuisance` [m, D] are directions that may take part with any coefficient (the parameters
    for weight decay, the old buffer for momentum). `rtol` is the largest relative residual that still
    counts as a weighted sum; by default it follows the dtype of the update. D should be at least 2n (4n in
    float32). Raises ValueError if shapes do not fit or a value is not finite.
    """
    target, rows, extra, dtype = _stacked(update, item_gradients, nuisance)
    limit = SPAN_TOLERANCE.get(dtype, 1e-6) if rtol is None else rtol
    items = len(rows)
    member, classes = _classes(rows, groups)
    columns = torch.zeros(classes, rows.shape[1], dtype=torch.float64).index_add_(0, member, rows)
    if groups is None:  # one representative: the weight of a tie is the sum of its items' weights
        columns = columns / torch.bincount(member, minlength=classes)[:, None]
    solution = _solve(torch.cat([columns, extra]), target)

    checked = target.numel() > solution.rank
    spanned = solution.residual <= limit or not checked
    value = solution.values if spanned else torch.full_like(solution.values, torch.nan)
    sizes = torch.bincount(member, minlength=classes)
    tied = (sizes > 1)[member] if groups is None else torch.zeros(items, dtype=torch.bool)
    known = (solution.known[member] & ~tied) if spanned else torch.zeros(items, dtype=torch.bool)
    weights = torch.where(known, value[member], torch.nan)
    ties = [] if groups is not None else [c for c in range(classes) if sizes[c] > 1]
    tie_items = tuple(tuple((member == c).nonzero().flatten().tolist()) for c in ties)
    lost = tuple((~solution.known[member]).nonzero().flatten().tolist())
    group_weights = None if groups is None else {
        int(g): float(weights[i]) for i, g in reversed(list(enumerate(torch.as_tensor(groups).tolist())))}
    tie_sums = tuple(float(value[c]) if solution.known[c] else float("nan") for c in ties)
    notes = _notes(solution, spanned, checked, tie_items, lost, items, groups is not None)
    return Recovery(
        weights, known, tie_items, tie_sums, lost, group_weights, value[classes:], solution.residual,
        checked, solution.condition, solution.error[member], spanned, notes)


@dataclass(frozen=True)
class _Solution:
    values: Tensor
    known: Tensor
    error: Tensor
    rank: int
    condition: float
    residual: float


def _solve(columns: Tensor, target: Tensor) -> _Solution:
    """Least squares target ≈ Σ x_j columns[j] with the columns scaled to length 1."""
    lengths = columns.norm(dim=1)
    alive = lengths > 0
    matrix = (columns[alive] / lengths[alive, None]).T
    values = torch.full((len(columns),), torch.nan, dtype=torch.float64)
    known = torch.zeros(len(columns), dtype=torch.bool)
    error = torch.full_like(values, torch.inf)
    size = float(target.norm())
    if not alive.any():
        return _Solution(values, known, error, 0, float("inf"), 1.0 if size else 0.0)

    q, r = torch.linalg.qr(matrix)
    u, s, vh = torch.linalg.svd(r, full_matrices=False)
    kept = s > RANK_TOLERANCE * s[0]
    u, s, vh = u[:, kept], s[kept], vh[kept]
    scaled = vh.T @ ((u.T @ (q.T @ target)) / s)
    rest = target - matrix @ scaled
    scaled = scaled + vh.T @ ((u.T @ (q.T @ rest)) / s)  # one refinement costs little and gains a digit
    rest = target - matrix @ scaled

    resolution = vh.square().sum(0)  # diagonal of V Vᵀ: 1 where the gradients determine the coefficient
    freedom = max(len(target) - len(s), 1)
    noise = max(float(rest.norm()) / freedom**0.5, torch.finfo(torch.float64).eps * size)
    values[alive] = scaled / lengths[alive]
    known[alive] = resolution > 1 - 1e-6
    error[alive] = noise * (vh / s[:, None]).norm(dim=0) / lengths[alive]
    residual = float(rest.norm()) / size if size else 0.0
    return _Solution(values, known, error, len(s), float(s[0] / s[-1]), residual)


def _classes(rows: Tensor, groups) -> tuple[Tensor, int]:
    """For every item the number of its unknown: its group, or the class of items with an equal gradient."""
    if groups is not None:
        groups = torch.as_tensor(groups)
        if groups.shape != (len(rows),):
            raise ValueError(f"groups has shape {list(groups.shape)}: give one number for each of "
                             f"the {len(rows)} items")
        names, member = groups.unique(return_inverse=True)
        return member, len(names)
    # Only rows with nearly the same projection on a fixed direction can be equal.
    lengths = rows.norm(dim=1)
    direction = torch.randn(rows.shape[1], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    projected = rows @ direction
    order = projected.argsort().tolist()
    member, classes = [-1] * len(rows), 0
    reach = TIE_TOLERANCE * float(direction.norm()) * float(lengths.max()) if len(rows) else 0.0
    for position, i in enumerate(order):
        if member[i] >= 0:
            continue
        member[i] = classes
        for j in order[position + 1:]:
            if projected[j] - projected[i] > reach:
                break
            if (rows[i] - rows[j]).norm() <= TIE_TOLERANCE * lengths[i] and lengths[i] > 0:
                member[j] = classes
        classes += 1
    return torch.tensor(member, dtype=torch.long), classes


def _stacked(update, item_gradients, nuisance) -> tuple[Tensor, Tensor, Tensor, torch.dtype]:
    if isinstance(update, Tensor):
        update, item_gradients, nuisance = [update], [item_gradients], [nuisance]
    nuisance = [None] * len(update) if nuisance is None else nuisance
    points = list(zip(update, item_gradients, nuisance, strict=True))
    if not points:
        raise ValueError("no parameter point was given")
    target, rows, extra = [], [], []
    for u, g, n in points:
        u, g = u.detach(), g.detach().flatten(1)
        n = torch.zeros(0, u.numel()) if n is None else n.detach().reshape(-1, u.numel())
        if g.shape[1] != u.numel():
            raise ValueError(f"the update has {u.numel()} numbers and the item gradients {g.shape[1]} each")
        target.append(u.double().flatten())
        rows.append(g.double())
        extra.append(n.double())
    for name, parts in (("update", target), ("item gradients", rows), ("nuisance directions", extra)):
        if not all(part.isfinite().all() for part in parts):
            raise ValueError(f"the {name} hold a NaN or an infinity")
    if len({len(part) for part in rows}) != 1 or len({len(part) for part in extra}) != 1:
        raise ValueError("every parameter point needs the same number of items and nuisance directions")
    if len(rows[0]) == 0:
        raise ValueError("there is no item")
    return torch.cat(target), torch.cat(rows, 1), torch.cat(extra, 1), update[0].dtype


def _notes(solution, spanned, checked, ties, lost, items, grouped) -> tuple[str, ...]:
    notes = []
    if not spanned:
        inside = "with one weight per group " if grouped else ""
        notes.append(f"The update is not a weighted sum of this window's gradients {inside}"
                     f"({solution.residual:.1%} of it lies outside).")
    if not checked:
        notes.append("There are not more equations than weights, so nothing checks the result: "
                     "give more parameter points or one weight per group.")
    if ties:
        count = sum(map(len, ties))
        notes.append(f"{count} items have equal gradients in {len(ties)} sets: only each set's sum is known.")
    if lost:
        notes.append(f"{len(lost)} of {items} weights cannot be told from these gradients: "
                     "they are zero or depend on each other.")
    return tuple(notes)
