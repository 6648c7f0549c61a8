"""The three dials: what a step divides by, how microbatches combine, how ranks combine.

A `Setting` of the dials predicts the weight w_i of every item in the update u = Σ w_i g_i. Comparing what
happened with what each setting predicts *names* a step. A new mistake is one new declaration in one of the
tables below: a name, what it computes, the words that explain it and, if it is no plain dial, its key.
Formulas: lessons 1 to 5; docs/field_guide.md shows where each mistake was met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product

import torch
from torch import Tensor

from .window import UpdateWindow

RTOL = 1e-6  # float64; judge float32 updates at 2e-5
MANY_ITEMS = 5000  # above, lost ranks and the like are not looked for: the table of settings stays small


@dataclass(frozen=True)
class Setting:
    """One setting of the dials. The first three are names in DIVISORS, MICROBATCHES and RANKS.

    `items` (a name in ITEMS) says with what factor an item enters, `lost_ranks` whose gradients never
    arrive, `kept` (a name in KEPT) which microbatches of a rank do.
    """

    divisor: str = "window"
    microbatches: str = "sum"
    ranks: str = "sum"
    items: str = "all"
    lost_ranks: tuple[int, ...] = ()
    kept: str = "every"

    def __str__(self) -> str:
        name = f"{self.divisor}, {self.microbatches}, {self.ranks}"
        if self.items != "all":
            name += f", items {self.items}"
        if self.lost_ranks:
            name += f", without rank {', '.join(map(str, self.lost_ranks))}"
        return name if self.kept == "every" else f"{name}, {self.kept} microbatch"


RIGHT = Setting()


@dataclass(frozen=True, eq=False)
class Explanation:
    """One reading of an update.

    key: stable diagnosis key; None when the weights are right, "unexplained" when nothing fits.
    setting: the dials that predict these weights; None when no setting does.
    factor: what the weights sum to, 1.0 when right; for "pure-scale" the factor on every weight.
    sentence: at most two lines with the numbers of this window.
    weights: [N] float64, what each item weighs in this reading; NaN where that is unknown.
    aliases: other keys by which the same setting may be called.
    """

    key: str | None
    setting: Setting | None
    factor: float
    sentence: str
    weights: Tensor
    aliases: tuple[str, ...] = ()


def predict_weights(setting: Setting, window: UpdateWindow) -> Tensor:
    """The weights [N] that a step with these dials gives the items, float64, in item order."""
    return _weights([setting], window)[0]


def explain_weights(weights: Tensor, window: UpdateWindow, rtol: float = RTOL) -> list[Explanation]:
    """All settings that give these weights [N], best first; never empty.

    A weight that is NaN is unknown and fits anything. Right weights give one entry with key None; when
    nothing fits, the one entry has key "unexplained". Raises ValueError for another shape.
    """
    weights = torch.as_tensor(weights, dtype=torch.float64).detach()
    if weights.shape != (window.item_count,):
        raise ValueError(f"weights have shape {list(weights.shape)}: give one for each of the "
                         f"{window.item_count} items")
    known = ~weights.isnan()
    if not known.any():
        return [_unexplained(window, weights, "No weight is known.")]
    each_alone = torch.eye(len(weights), dtype=torch.float64)[:, known]
    explanations = _explain(weights[known], each_alone, window, rtol)
    if explanations[0].key == "unexplained":
        return [_unexplained(window, weights, "No setting of the three dials gives these weights.")]
    return explanations


def explain_update(
    update: Tensor,
    item_gradients: Tensor,
    window: UpdateWindow,
    rtol: float = RTOL,
    outside: Tensor | None = None,
) -> list[Explanation]:
    """All settings whose predicted update is this one, best first; never empty.

    update [D]; item_gradients [N, D] in item order (or one row per slot of the window: padding is left
    out). Rows may be equal, and D may be 1: predictions are compared and nothing is inverted. The largest
    error may be `rtol` of the update's largest entry. Keys as in `explain_weights`, whose weights are the
    predicted ones here. `outside` [M, D] are gradients that do not belong to this window, such as those of
    the window before; an update that holds some of them has the key "window-boundaries". Raises ValueError
    if shapes do not fit.
    """
    update = torch.as_tensor(update, dtype=torch.float64).detach().flatten()
    rows = torch.as_tensor(item_gradients, dtype=torch.float64).detach()
    rows = rows.reshape(len(rows), -1)
    if len(rows) == len(window.rank):
        rows = rows[window.item_slots]
    if rows.shape != (window.item_count, len(update)):
        raise ValueError(f"an update of {len(update)} numbers and item gradients {list(rows.shape)} do not "
                         f"fit a window of {window.item_count} items: give [D] and [N, D]")
    found = _explain(update, rows, window, rtol)
    if outside is not None and found[0].key == "unexplained":
        outside = outside.detach().double().reshape(-1, len(update))
        return _explain_with_outside(update, rows, outside, window, rtol) or found
    return found


def explain_report(
    value: float, item_losses: Tensor, window: UpdateWindow, rtol: float = RTOL
) -> Explanation:
    """What a reported loss is: key None when it is the objective, else "wrong-return-value".

    item_losses [N]. The sentence says with which dials the reported number would come about.
    """
    best = explain_update(torch.tensor([float(value)]), item_losses.reshape(-1, 1), window, rtol)[0]
    if best.key is None:
        return best
    right = float(window.expected_weights @ item_losses.double().flatten())
    head = f"The reported value is {value:.6g}, the objective is {right:.6g}."
    why = best.sentence.splitlines()[0] if best.setting else "No setting of the dials gives that value."
    return Explanation("wrong-return-value", best.setting, best.factor, f"{head}\n{why}", best.weights)


def explain_blocks(
    blocks: dict[str, tuple[Tensor, Tensor]], window: UpdateWindow, rtol: float = RTOL
) -> list[Explanation]:
    """As `explain_update`, for parameters in named blocks: {name: (update [D_b], item gradients [N, D_b])}.

    Readings that fit every block come back; when there is none, the one entry has the key
    "parameter-groups-differ" and says what each block got.
    """
    readings = {name: explain_update(*block, window, rtol) for name, block in blocks.items()}
    same = lambda a, b: a.key == b.key and a.setting == b.setting and (  # noqa: E731
        a.setting is not None or math.isclose(a.factor, b.factor, rel_tol=10 * rtol))
    first, *others = readings.values()
    common = [e for e in first if all(any(same(e, other) for other in found) for found in others)]
    if common:
        return common
    worst = next(found[0] for found in readings.values() if found[0].key is not None)
    each = "; ".join(f"{name}: {_short(found[0], window)}" for name, found in readings.items())
    return [Explanation("parameter-groups-differ", None, worst.factor,
                        f"The parameters were not all treated alike.\n{each}.", worst.weights)]


def explain_two_terms(
    update: Tensor,
    item_gradients: Tensor,
    window: UpdateWindow,
    term_gradients: Tensor,
    term_window: UpdateWindow,
    rtol: float = RTOL,
) -> list[Explanation]:
    """As `explain_update`, for an objective of two terms, each a mean over a window of its own.

    term_gradients [M, D] are the gradients of the second term with its coefficient, such as one per
    microbatch (`UpdateWindow.from_counts([[1] * K] * P)`). Only plain dials and whole factors are tried.
    "second-term-misweighted": the items are right and the second term is not.
    """
    update = update.detach().double().flatten()
    mains, seconds = _plain_readings(window), _plain_readings(term_window)
    first, second = (
        torch.stack([weights for _, weights in readings]) @ rows.detach().double().reshape(-1, len(update))
        for readings, rows in ((mains, item_gradients), (seconds, term_gradients)))
    sums = first[:, None] + second[None]
    size = sums.abs().amax(-1).clamp(min=_size(update))
    fits = ((sums - update).abs().amax(-1) <= rtol * size).nonzero().tolist()
    found = []
    for i, j in sorted(fits, key=lambda pair: (min(pair) > 0, sum(pair))):
        (setting, weights), share = mains[i], float(seconds[j][1].sum())
        if i == j == 0:
            return [Explanation(None, RIGHT, 1.0, "Both terms weigh what they should.", weights)]
        key = diagnosis_key(setting, window) if setting else "pure-scale"
        words = "The items weigh what they should." if i == 0 else _weights_line(weights, window)
        words += f"\nThe second term as a whole weighed {_number(share)} and should weigh 1 " \
                 f"({term_window.item_count} parts)."
        key = key or "second-term-misweighted"
        found.append(Explanation(key, setting, float(weights.sum()), words, weights))
    return found or [_unexplained(window, torch.full_like(window.expected_weights, torch.nan),
                                  "No plain dials of the two terms give this update.")]


def ambiguous(window: UpdateWindow, rtol: float = 1e-3) -> list[tuple[Setting, Setting]]:
    """Pairs of settings with different keys that this window cannot tell apart: their weights agree to rtol.

    A pair whose first setting is RIGHT is a mistake that looks right here.
    """
    settings = [RIGHT, *(s for s in catalogue(window) if s != RIGHT)]
    keys = [diagnosis_key(s, window) for s in settings]
    table = torch.cat([window.expected_weights[None], _weights(settings[1:], window)])
    distance = torch.cdist(table, table, p=torch.inf)
    size = torch.maximum(table.abs().amax(-1)[:, None], table.abs().amax(-1)[None])
    close = (distance <= rtol * size).triu(diagonal=1).nonzero().tolist()
    return [(settings[i], settings[j]) for i, j in close if keys[i] != keys[j]]


def diagnosis_key(setting: Setting, window: UpdateWindow) -> str | None:
    """The one key of a setting; None for the right one."""
    if setting.lost_ranks:
        return "rank-lost"
    dials = (KEPT[setting.kept], ITEMS[setting.items], DIVISORS[setting.divisor],
             MICROBATCHES[setting.microbatches], RANKS[setting.ranks])
    special = next((dial.key for dial in dials if dial.key), None)
    if special:
        return special
    names = (setting.divisor, setting.microbatches, setting.ranks)
    key = _BASIC_KEYS[tuple(dial.plain or name for dial, name in zip(dials[2:], names, strict=True))]
    return "duplicated-items" if key is None and bool((window.item_copies > 1).any()) else key


def catalogue(window: UpdateWindow) -> list[Setting]:
    """Every setting that means something in this window, the most plausible first."""
    return [s for s in _declared(window) if s != RIGHT or bool((window.item_copies > 1).any())]


# ---- the dials. A value is a tensor [N] or a number; `applies` says in which windows the entry means
# ---- anything; `plain` is the plain dial whose key it shares.

Applies = Callable[[UpdateWindow], bool]


@dataclass(frozen=True)
class Dial:
    value: Callable
    phrase: Callable[[UpdateWindow], str]
    key: str = ""
    applies: Applies = lambda window: True
    plain: str = ""
    only: tuple[tuple[str, str], ...] = ()  # for a divisor: the (microbatches, ranks) that it occurs with


def _per(where: str, amounts: Tensor, window: UpdateWindow) -> Tensor:
    """For every item, the sum of the amounts [N] over its microbatch, its rank, its group or the window."""
    if where == "window":
        return amounts.sum().expand(len(amounts))
    index = {"microbatch": window.item_groups, "rank": window.item_ranks}.get(where)
    if index is None:
        home = {r: g for g, ranks in enumerate(window.groups) for r in ranks}
        index = torch.tensor([home[r] for r in window.item_ranks.tolist()])
    return torch.zeros(int(index.max()) + 1, dtype=torch.float64).index_add_(0, index, amounts)[index]


def _per_table(where: str, table: Sequence[Sequence[int]], window: UpdateWindow) -> Tensor:
    """For every item, the sum of table[r][k] over its microbatch, its rank or the window."""
    cells = torch.tensor([float(n) for row in table for n in row], dtype=torch.float64)
    if where == "microbatch":
        return cells[window.item_groups]
    ranks = torch.tensor([float(sum(row)) for row in table], dtype=torch.float64)
    return ranks[window.item_ranks] if where == "rank" else cells.sum().expand(window.item_count)


def _sequence_facts(where: str, window: UpdateWindow) -> tuple[Tensor, Tensor]:
    """For every item: the items of its sequence, and the number of sequences with items in its scope."""
    sequences = torch.tensor(window.sequence)[window.item_slots]
    number = window.item_groups * (int(sequences.max()) + 1) + sequences
    _, index, lengths = number.unique(return_inverse=True, return_counts=True)
    length = lengths.double()[index]
    return length, _per(where, 1 / length, window)


def _counts_of(where: str) -> Callable:
    return lambda w, s: _per(where, w.item_weights, w)


def _numbers_of(where: str) -> Callable:
    return lambda w, s: _per(where, torch.ones(w.item_count, dtype=torch.float64), w)


def _clamped(where: str) -> Callable:
    return lambda w, s: _per(where, w.item_weights, w).clamp(min=1.0)


def _rest(w: UpdateWindow, s: Setting) -> float:
    return float((w.item_weights * _arrived(s, w)).sum())


def _shard(w: UpdateWindow) -> int:
    return math.ceil(w.item_count / w.world_size)


def _has_padding(w: UpdateWindow) -> bool:
    return not all(w.valid)


def _has_sequences(w: UpdateWindow) -> bool:
    return w.sequence is not None and len(set(w.sequence)) > 0


def _shift_matters(w: UpdateWindow) -> bool:
    return w.unshifted_counts is not None and w.unshifted_counts != w.counts


def _small_weight(where: str) -> Applies:
    return lambda w: w.is_weighted and bool((_per(where, w.item_weights, w) < 1).any())


def _count_words(where: str, what: str = "items") -> Callable[[UpdateWindow], str]:
    def words(w: UpdateWindow) -> str:
        if w.is_weighted and what == "items":
            if where == "window":
                return f"the whole sum was divided by the window's weights (W = {_number(w.weight_sum)})"
            return f"each {where}'s sum was divided by that {where}'s own weights"
        table = {"slots": w.slot_counts, "unshifted labels": w.unshifted_counts}.get(what, w.counts)
        extra = {"items": "", "slots": ", padding counted", "unshifted labels": " before the shift"}[what]
        if where == "microbatch":
            return f"each microbatch's sum was divided by its own count{extra} ({_microbatch_list(table)})"
        totals = [sum(row) for row in table]
        if where == "rank":
            return f"each rank's sum was divided by that rank's own count{extra} ({_rank_list(totals)})"
        name = "N = " if what == "items" else ""
        return f"the whole sum was divided by the window's count{extra} ({name}{sum(totals)})"

    return words


_SCOPES = ("rank", "microbatch", "window")
_WITHIN = {"rank": "on the rank", "microbatch": "in the microbatch", "window": "in the window"}

# What the sum of item gradients is divided by: value(window, setting) -> [N].
DIVISORS: dict[str, Dial] = {
    "nothing": Dial(lambda w, s: 1.0, lambda w: "the sum was divided by no count"),
    **{where: Dial(_counts_of(where), _count_words(where)) for where in _SCOPES},
    "rest": Dial(_rest, lambda w: "what arrived was divided by its own count"),
    "wrapped": Dial(lambda w, s: float(w.world_size * _shard(w)),
                    lambda w: f"the sum was divided by {w.world_size * _shard(w)}, repeats counted"),
    "group": Dial(lambda w, s: _per("group", w.item_weights, w),
                  lambda w: "the count was summed over a group of ranks only (" + ", ".join(
                      f"{_ranks_words(g)}: {sum(w.rank_counts[r] for r in g)}" for g in w.groups) + ")",
                  "wrong-group", lambda w: w.groups is not None),
    "repeated": Dial(lambda w, s: len(w.groups[0]) * _per("window", w.item_weights, w),
                     lambda w: f"the window's count was summed {len(w.groups[0])} times over, "
                     "once by each rank of a group",
                     "wrong-group", lambda w: w.groups is not None and len(w.groups[0]) > 1),
    "clamped-share": Dial(
        lambda w, s: max(1.0, w.weight_sum / w.world_size),
        lambda w: f"the sum was divided by 1, because N/P = {_number(w.weight_sum / w.world_size)} "
        "is below it",
        "clamped-count", lambda w: w.weight_sum < w.world_size, only=(("sum", "mean"),)),
    "clamped-ranks": Dial(
        lambda w, s: float(sum(max(n, 1) for n in w.rank_counts)),
        lambda w: f"the sum was divided by {sum(max(n, 1) for n in w.rank_counts)}: each rank without items "
        f"counted as 1 (N = {w.item_count})",
        "clamped-count", lambda w: 0 in w.rank_counts),
    **{f"clamped-{where}": Dial(
        _clamped(where), lambda w, where=where: f"the sum was divided by the weights {_WITHIN[where]}, "
        "but by 1 where they are less",
        "clamped-count", _small_weight(where)) for where in _SCOPES},
    **{f"number-{where}": Dial(
        _numbers_of(where), lambda w, where=where: f"the sum was divided by how many items there are {_WITHIN[where]}, "
        f"not by their weights (N = {w.item_count}, W = {_number(w.weight_sum)})", "divided-by-items",
        lambda w: w.is_weighted) for where in _SCOPES},
    **{f"padded-{where}": Dial(
        lambda w, s, where=where: _per_table(where, w.slot_counts, w), _count_words(where, "slots"),
        "padding-counted", _has_padding) for where in _SCOPES},
    **{f"unshifted-{where}": Dial(
        lambda w, s, where=where: _per_table(where, w.unshifted_counts, w),
        _count_words(where, "unshifted labels"), "unshifted-count", _shift_matters) for where in _SCOPES},
    **{f"sequences-{where}": Dial(
        lambda w, s, where=where: torch.mul(*_sequence_facts(where, w)),
        lambda w, where=where: "each sequence's sum was divided by its own length and by the number of "
        f"sequences {_WITHIN[where]}", "sequence-mean", _has_sequences) for where in _SCOPES},
    **{f"share-{where}": Dial(
        lambda w, s, where=where: _per(where, w.item_weights, w) * _sequence_facts("window", w)[1]
        / _sequence_facts(where, w)[1],
        lambda w, where=where: f"the token mean of each {where} was weighted by its share of the sequences",
        "sequence-mean", _has_sequences, only=(("sum", "sum"), ("sum", "mean")))
       for where in ("rank", "microbatch")},
    **{f"nominal-{where}": Dial(
        lambda w, s, where=where: float(_nominal(where, w)),
        lambda w, where=where: f"the sum {_WITHIN[where]} was divided by the configured "
        f"{_nominal(where, w)} items, not by those that are there", "nominal-batch-size",
        lambda w: w.nominal_batch_size is not None) for where in _SCOPES},
    "truncated": Dial(
        lambda w, s: float(w.item_count // w.world_size),
        lambda w: f"the sum was divided by {w.item_count // w.world_size}, the integer part of "
        f"N/P = {w.item_count}/{w.world_size}",
        "overflow-or-truncation",
        lambda w: w.item_count >= w.world_size and w.item_count % w.world_size > 0, only=(("sum", "mean"),)),
}

# How the microbatches of a rank combine: a divisor on top, value(window) -> [N] or number.
MICROBATCHES: dict[str, Dial] = {
    "sum": Dial(lambda w: 1.0, lambda w: "microbatches were added"),
    "mean": Dial(lambda w: _own_k(w, w.microbatch_counts),
                 lambda w: f"microbatches were averaged (K = {_spread(w.microbatch_counts)})"),
    "configured": Dial(lambda w: float(w.accumulation_steps),
                       lambda w: f"microbatches were divided by the configured K = {w.accumulation_steps} "
                       f"(here there were {_spread(w.microbatch_counts)})",
                       "full-window-divisor-on-partial-window",
                       lambda w: max(w.microbatch_counts) < w.accumulation_steps),
    "longest": Dial(lambda w: float(max(w.microbatch_counts)),
                    lambda w: f"microbatches were divided by the largest K = {max(w.microbatch_counts)}",
                    applies=lambda w: len(set(w.microbatch_counts)) > 1, plain="mean"),
    "nonempty": Dial(lambda w: _own_k(w, [sum(n > 0 for n in row) for row in w.counts]),
                     lambda w: "microbatches with items were averaged "
                     f"(K = {_spread([sum(n > 0 for n in row) for row in w.counts])})",
                     applies=lambda w: any(0 in row and sum(row) > 0 for row in w.counts), plain="mean"),
}

# How ranks combine: a divisor on top, value(window) -> [N] or number.
RANKS: dict[str, Dial] = {
    "sum": Dial(lambda w: 1.0, lambda w: "ranks were added"),
    "mean": Dial(lambda w: float(w.world_size), lambda w: f"ranks were averaged (P = {w.world_size})"),
    "active": Dial(lambda w: float(_active(w)),
                   lambda w: f"only the {_active(w)} of P = {w.world_size} ranks with items were averaged",
                   "active-ranks", lambda w: _active(w) < w.world_size),
    "twice": Dial(lambda w: float(w.world_size**2),
                  lambda w: f"ranks were averaged twice (P = {w.world_size})", "divided-twice"),
    "group": Dial(lambda w: _group_sizes(w),
                  lambda w: "ranks were averaged over their group only (of "
                  f"{_spread([len(g) for g in w.groups])})", "wrong-group", lambda w: w.groups is not None),
    "groups": Dial(lambda w: float(len(w.groups)),
                   lambda w: f"the {len(w.groups)} groups of ranks were averaged",
                   "wrong-group", lambda w: w.groups is not None),
}

# With what factor an item enters the sum, value(window) -> [N].
ITEMS: dict[str, Dial] = {
    "all": Dial(lambda w: w.item_weights, lambda w: ""),
    "unweighted": Dial(lambda w: torch.ones(w.item_count, dtype=torch.float64),
                       lambda w: "sample weights were ignored", "weights-ignored", lambda w: w.is_weighted),
    "wrapped": Dial(lambda w: _wrapped(w),
                    lambda w: f"{w.item_count} examples were dealt to {w.world_size} ranks by repeating "
                    f"{w.world_size * _shard(w) - w.item_count}", "duplicated-items",
                    lambda w: w.world_size > 1 and w.item_count % w.world_size > 0 and w.example is None),
}

# Which microbatches of a rank arrive in the update, value(window) -> [N] of 0 and 1.
KEPT: dict[str, Dial] = {
    "every": Dial(lambda w: torch.ones(w.item_count, dtype=torch.float64), lambda w: ""),
    **{name: Dial(lambda w, pick=pick: _chosen(w, pick), lambda w, words=words: f"of each rank {words}",
                  "gradients-lost", lambda w: any(sum(n > 0 for n in row) > 1 for row in w.counts))
       for name, pick, words in (("last", max, "only the last microbatch arrived"),
                                 ("first", min, "only the first microbatch arrived"))},
}

# The plain dials, the most plausible first, with the one key of each setting (syllabus, list of reasons).
_BASIC_KEYS: dict[tuple[str, str, str], str | None] = {
    ("window", "sum", "sum"): None,
    ("rank", "sum", "mean"): "mean-of-rank-means",
    ("rank", "sum", "sum"): "sum-of-rank-means",
    ("microbatch", "mean", "mean"): "mean-of-microbatch-means",
    ("microbatch", "mean", "sum"): "mean-of-microbatch-means",
    ("microbatch", "sum", "mean"): "sum-of-microbatch-means",
    ("microbatch", "sum", "sum"): "sum-of-microbatch-means",
    ("window", "sum", "mean"): "global-divisor-then-mean",
    ("window", "mean", "sum"): "divided-twice",
    ("window", "mean", "mean"): "divided-twice",
    ("nothing", "sum", "sum"): "never-divided",
    ("nothing", "sum", "mean"): "divided-by-world-size",
    ("nothing", "mean", "sum"): "microbatch-count",
    ("nothing", "mean", "mean"): "divided-by-world-size",
    ("rank", "mean", "mean"): "mean-of-rank-means",
    ("rank", "mean", "sum"): "sum-of-rank-means",
}


# ---- which settings a window offers

_PLAIN_RANKS = ("sum", "mean")


def _declared(window: UpdateWindow) -> Iterator[Setting]:
    """Settings in the order in which they are believed.

    First those that only matter in special windows (a clamp that bites, declared groups), then the plain
    dials, then everything rarer.
    """
    def offered(table: dict[str, Dial], names: Iterable[str] | None = None) -> list[str]:
        return [name for name in (names or table) if table[name].applies(window)]

    micros = offered(MICROBATCHES)
    special = [name for name in offered(DIVISORS)
               if DIVISORS[name].key and DIVISORS[name].key not in ("wrong-group", "clamped-count")]
    clamped = [name for name in offered(DIVISORS) if DIVISORS[name].key == "clamped-count"]
    grouped = [name for name in offered(DIVISORS) if DIVISORS[name].key == "wrong-group"]

    def turned(divisors: Iterable[str], ranks: Sequence[str], items: str = "all") -> Iterator[Setting]:
        for divisor in divisors:
            pairs = DIVISORS[divisor].only or product(("sum", "mean"), ranks)
            yield from (Setting(divisor, micro, rank, items) for micro, rank in pairs)

    yield from turned(clamped, _PLAIN_RANKS)
    if window.groups is not None:
        yield from turned(grouped, ("sum", "mean", "group", "groups"))
        yield from turned(("window",), ("group", "groups"))
    yield from (Setting(*dials) for dials in _BASIC_KEYS)
    for items in offered(ITEMS, ["unweighted"]):
        yield from turned([name for name in special if name.startswith("number-")], _PLAIN_RANKS, items)
        yield from turned(_SCOPES, _PLAIN_RANKS, items)
    yield from turned(special, _PLAIN_RANKS)
    plain = ("nothing", *_SCOPES)
    yield from (Setting(*dials) for dials in product(plain, micros[2:], _PLAIN_RANKS))
    yield from (Setting(*dials) for dials in product(_SCOPES, micros, offered(RANKS, ["active", "twice"])))
    yield from (Setting("wrapped", items=name) for name in offered(ITEMS, ["wrapped"]))
    holders = [r for r, count in enumerate(window.rank_counts) if count]
    lost = [(r,) for r in holders] if len(holders) > 1 else []
    lost += [tuple(q for q in holders if q != r) for r in holders] if len(holders) > 2 else []
    remaining = list(product(("window", "rest", "rank", "microbatch"), ("sum", "mean"), _PLAIN_RANKS))
    yield from (Setting(*dials, lost_ranks=ranks) for ranks in lost for dials in remaining)
    for kept in offered(KEPT, ["last", "first"]):
        yield from (Setting(*dials, kept=kept) for dials in remaining)


def _turns_nothing(setting: Setting, window: UpdateWindow) -> bool:
    """With one rank or one microbatch a dial does nothing: the setting that leaves it alone has the name."""
    one_rank = window.world_size == 1 and (
        setting.ranks in ("mean", "twice") or setting.divisor.endswith("rank"))
    one_microbatch = max(window.microbatch_counts) <= 1 and (
        setting.microbatches == "mean" or setting.divisor.endswith("microbatch"))
    return one_rank or one_microbatch


@lru_cache(maxsize=8)
def _predictions(window: UpdateWindow) -> tuple[list[Setting], Tensor]:
    settings = [s for s in catalogue(window) if not _turns_nothing(s, window)]
    if window.item_count > MANY_ITEMS:
        settings = [s for s in settings if s == Setting(s.divisor, s.microbatches, s.ranks)]
    return settings, _weights(settings, window)


def _weights(settings: Sequence[Setting], window: UpdateWindow) -> Tensor:
    """The predicted weights [S, N] of many settings; each value of a dial is computed once."""
    known: dict = {}

    def value(table: dict[str, Dial], name: str, *setting: Setting) -> Tensor:
        place = id(table), name, setting
        if place not in known:
            found = table[name].value(window, *setting)
            known[place] = torch.as_tensor(found, dtype=torch.float64).expand(window.item_count)
        return known[place]

    def arrived(setting: Setting) -> Tensor:
        place = setting.kept, setting.lost_ranks
        if place not in known:
            known[place] = _arrived(setting, window)
        return known[place]

    entered = torch.stack([value(ITEMS, s.items) for s in settings])
    entered = entered * torch.stack([arrived(s) for s in settings])
    divisor = torch.stack([value(DIVISORS, s.divisor, s if s.divisor == "rest" else RIGHT) for s in settings])
    divisor = divisor * torch.stack([value(MICROBATCHES, s.microbatches) for s in settings])
    return entered / (divisor * torch.stack([value(RANKS, s.ranks) for s in settings]))


def _arrived(setting: Setting, window: UpdateWindow) -> Tensor:
    """1 for every item whose gradient arrives, else 0."""
    arrived = KEPT[setting.kept].value(window)
    for r in setting.lost_ranks:
        arrived = arrived * (window.item_ranks != r)
    return arrived


# ---- comparing

def _explain(update: Tensor, rows: Tensor, window: UpdateWindow, rtol: float) -> list[Explanation]:
    expected = window.expected_weights
    unknown = torch.full_like(expected, torch.nan)
    if not update.isfinite().all():
        return [_unexplained(window, unknown, "The update holds a NaN or an infinity.")]
    reference = expected @ rows
    if _close(update, reference, rtol * _size(reference)):
        return [Explanation(None, RIGHT, 1.0, _right_sentence(window), expected)]
    if not update.any():
        return [Explanation("no-update", None, 0.0, f"No item weighs anything: the update is zero "
                            f"(N = {window.item_count} items).", torch.zeros_like(expected))]

    settings, table = _predictions(window)
    predicted = table @ rows
    error = (predicted - update).abs().amax(1)
    fits = error <= rtol * predicted.abs().amax(1).clamp(min=_size(update))
    found = [_explanation(settings[i], table[i], window) for i in fits.nonzero().flatten().tolist()]
    factor = _pure_scale(update, reference, rows, window, rtol)
    if factor is not None:
        sentence = _scale_sentence(factor, window)
        found.append(Explanation("pure-scale", None, factor, sentence, factor * expected))
    found = found or _scaled(update, rows, window, rtol)
    return found or [_unexplained(window, unknown, "No setting of the three dials predicts this update.")]


def _explanation(setting: Setting, weights: Tensor, window: UpdateWindow) -> Explanation:
    key = diagnosis_key(setting, window)
    own_count = setting.divisor == "rank" and key in ("mean-of-rank-means", "sum-of-rank-means")
    aliases = ("local-window-count",) if own_count and max(window.microbatch_counts) > 1 else ()
    if key == "mean-of-rank-means" and 0 not in window.rank_counts:
        aliases += ("active-ranks",)  # where no rank is empty all are active
    if key == "never-divided" and window.world_size == 1:
        aliases += ("divided-by-world-size",)  # by 1
    if key == "never-divided" and max(window.microbatch_counts) <= 1:
        aliases += ("microbatch-count",)  # also 1
    sentence = _sentence(setting, weights, window)
    return Explanation(key, setting, float(weights.sum()), sentence, weights, aliases)


def _unexplained(window: UpdateWindow, weights: Tensor, why: str) -> Explanation:
    counts = f"The window has N = {window.item_count} items ({_rank_list(window.rank_counts)})."
    return Explanation("unexplained", None, float(weights.sum()), f"{why}\n{counts}", weights)


def _pure_scale(
    update: Tensor, reference: Tensor, rows: Tensor, window: UpdateWindow, rtol: float
) -> float | None:
    """The factor c with update = c · reference, if that says anything.

    When all item gradients are parallel every update is some multiple of the reference; then only a factor
    that has a likely cause counts.
    """
    if not reference.any():
        return None
    factor = float(update @ reference / (reference @ reference))
    if not _close(update, factor * reference, rtol * _size(update)):
        return None
    telling = not _all_parallel(rows, reference) or (len(rows) == 1 and len(update) > 1)
    return factor if telling or _likely_cause(factor, window) else None


def _explain_with_outside(
    update: Tensor, rows: Tensor, outside: Tensor, window: UpdateWindow, rtol: float
) -> list[Explanation]:
    """What the update says once everything along the outside gradients is taken out of it."""
    basis = torch.linalg.qr(outside[outside.norm(dim=1) > 0].T)[0]
    without = lambda x: x - (x @ basis) @ basis.T  # noqa: E731
    reference = window.expected_weights @ rows
    if not without(reference).norm() > RTOL * reference.norm():
        return []
    inner = _explain(without(update), without(rows), window, rtol)[0]
    if inner.key in ("unexplained", "no-update"):
        return []
    share = float((update - inner.weights @ rows).norm() / update.norm())
    inside = inner.sentence.splitlines()[-1] if inner.key is None else _weights_line(inner.weights, window)
    sentence = f"Gradients from outside this window are in its update ({share:.0%} of its length).\n{inside}"
    return [Explanation("window-boundaries", inner.setting, inner.factor, sentence, inner.weights)]


def _scaled(update: Tensor, rows: Tensor, window: UpdateWindow, rtol: float) -> list[Explanation]:
    """Plain settings that fit up to one factor, such as clipping on top; none when any update would."""
    found = []
    for setting, weights in _plain_readings(window)[1:]:
        predicted = weights @ rows
        if setting is None or not predicted.any() or _all_parallel(rows, predicted):
            continue
        factor = float(update @ predicted / (predicted @ predicted))
        if _close(update, factor * predicted, rtol * _size(update)):
            one = _explanation(setting, factor * weights, window)
            on_top = f"{one.sentence} A factor {_number(factor)} is on top of all."
            found.append(replace(one, sentence=on_top))
    return found


def _plain_readings(window: UpdateWindow) -> list[tuple[Setting | None, Tensor]]:
    """The right weights, the plain dials, and whole factors P, K and P·K on the right weights."""
    plain = [s for s in map(lambda dials: Setting(*dials), _BASIC_KEYS)
             if s != RIGHT and not _turns_nothing(s, window)]
    p, k = window.world_size, max(window.microbatch_counts)
    return [(RIGHT, window.expected_weights), *zip(plain, _weights(plain, window), strict=True),
            *((None, factor * window.expected_weights) for factor in (p, k, p * k) if factor > 1)]


def _all_parallel(rows: Tensor, direction: Tensor) -> bool:
    unit = direction / direction.norm()
    across = rows - torch.outer(rows @ unit, unit)
    return float(across.abs().max()) <= RTOL * float(rows.abs().max())


def _short(explanation: Explanation, window: UpdateWindow) -> str:
    if explanation.key is None:
        return "right"
    if explanation.weights.isnan().any():
        return "no setting of the dials"
    return _weights_line(explanation.weights, window).removeprefix("So ").removesuffix(".")


def _close(a: Tensor, b: Tensor, tolerance: float) -> bool:
    return float((a - b).abs().max()) <= tolerance


def _size(values: Tensor) -> float:
    return float(values.abs().max())


# ---- the values and numbers that the tables above use

def _own_k(window: UpdateWindow, numbers: Sequence[int]) -> Tensor:
    return torch.tensor([float(max(n, 1)) for n in numbers], dtype=torch.float64)[window.item_ranks]


def _active(window: UpdateWindow) -> int:
    return sum(count > 0 for count in window.rank_counts)


def _group_sizes(window: UpdateWindow) -> Tensor:
    size = {r: float(len(ranks)) for ranks in window.groups for r in ranks}
    return torch.tensor([size[r] for r in window.item_ranks.tolist()], dtype=torch.float64)


def _nominal(where: str, window: UpdateWindow) -> int:
    steps = {"microbatch": 1, "rank": window.accumulation_steps,
             "window": window.accumulation_steps * window.world_size}
    return window.nominal_batch_size * steps[where]


def _wrapped(window: UpdateWindow) -> Tensor:
    """How often each example occurs when P ranks of equal length are filled by starting again in front."""
    total, count = window.world_size * math.ceil(window.item_count / window.world_size), window.item_count
    return torch.arange(total).remainder(count).bincount(minlength=count).double()


def _chosen(window: UpdateWindow, pick: Callable) -> Tensor:
    chosen = [pick((k for k, n in enumerate(row) if n), default=-1) for row in window.counts]
    return (window.item_microbatches == torch.tensor(chosen)[window.item_ranks]).double()


# ---- words

def _sentence(setting: Setting, weights: Tensor, window: UpdateWindow) -> str:
    parts = [DIVISORS[setting.divisor].phrase(window)]
    if max(window.microbatch_counts) <= 1 and setting.microbatches in ("sum", "mean"):
        parts.append("there was one microbatch (K = 1)")
    else:
        parts.append(MICROBATCHES[setting.microbatches].phrase(window))
    one_rank = window.world_size == 1 and setting.ranks in ("sum", "mean")
    parts.append("there was one rank (P = 1)" if one_rank else RANKS[setting.ranks].phrase(window))
    line = f"{parts[0]}, {parts[1]} and {parts[2]}."
    before = [ITEMS[setting.items].phrase(window), KEPT[setting.kept].phrase(window)]
    if setting.lost_ranks:
        before.append(f"the gradients of {_ranks_words(setting.lost_ranks)} never arrived")
    before = "; ".join(words for words in before if words)
    line = f"{before}: {line}" if before else line
    return f"{line[0].upper()}{line[1:]}\n{_weights_line(weights, window)}"


def _weights_line(weights: Tensor, window: UpdateWindow) -> str:
    """What the most and the least favoured item weighed, and what they should."""
    expected = window.expected_weights
    ratio = torch.where(expected > 0, weights / expected, torch.where(weights > 0, torch.inf, 1.0))
    most, least = int(ratio.argmax()), int(ratio.argmin())
    even = _size(expected - expected[0]) <= 1e-9 * _size(expected)
    if float(ratio[most] - ratio[least]) <= 1e-9 * abs(float(ratio[most])):
        if even:
            return f"So every item weighed {_number(weights[0])}; it should weigh {_number(expected[0])}."
        some = int(expected.argmax())
        return (f"So every item weighed {_number(ratio[some])} times what it should: {_item(some, window)} "
                f"weighed {_number(weights[some])} in place of {_number(expected[some])}.")
    first, second = sorted((most, least))
    by_microbatch = any(  # within a rank the weights are not in proportion
        float(ratio[window.item_ranks == window.item_ranks[i]].var(correction=0)) > 1e-18 for i in (first, second))
    names = [_item(i, window, by_microbatch) for i in (first, second)]
    if names[0] == names[1]:
        names = [f"item {i} of the window" for i in (first, second)]
    if even:
        return (f"So {names[0]} weighed {_number(weights[first])} and {names[1]} {_number(weights[second])}; "
                f"each should weigh {_number(expected[first])}.")
    return "So " + " and ".join(
        f"{name} weighed {_number(weights[i])} (it should weigh {_number(expected[i])})"
        for name, i in zip(names, (first, second), strict=True)) + "."


def _item(index: int, window: UpdateWindow, by_microbatch: bool = False) -> str:
    r, k = int(window.item_ranks[index]), int(window.item_microbatches[index])
    if by_microbatch and max(window.microbatch_counts) > 1:
        name = f"an item of rank {r}, microbatch {k}"
        count, group = window.counts[r][k], window.item_groups == window.item_groups[index]
    else:
        name = f"an item of rank {r}"
        count, group = window.rank_counts[r], window.item_ranks == r
    if window.is_weighted:
        own, total = window.item_weights[index], window.item_weights[group].sum()
        name += f" (sample weight {_number(own)} of {_number(total)})"
    else:
        name += f" ({_items(count)})"
    if window.sequence is not None and by_microbatch:
        length = int(_sequence_facts("window", window)[0][index])
        name += f" in a sequence of {length}"
    return name


def _right_sentence(window: UpdateWindow) -> str:
    if window.is_weighted:
        return f"Every item weighs its sample weight over W = {_number(window.weight_sum)}, as it should."
    if bool((window.item_copies > 1).any()):
        return "Every example has the same weight, whether it occurs once or more often."
    each = _number(window.expected_weights[0])
    return f"Every item weighs {each}, as it should (N = {window.item_count})."


def _scale_sentence(factor: float, window: UpdateWindow) -> str:
    expected = window.expected_weights
    some = int(expected.argmax())
    cause = _likely_cause(factor, window)
    if not cause and 0 < factor < 1:
        whole, right = _told_apart(window.weight_sum / factor, window.weight_sum)
        cause = f"clipping, or a divisor of {whole} in place of {right}"
    cause = cause or "a factor on the loss or on the learning rate"
    which = "Every item" if float(expected.min()) == float(expected.max()) else "The heaviest item"
    got, due = _told_apart(factor * expected[some], expected[some])
    return (f"{which} weighed {got} where {due} is right: "
            f"the direction is right, the size is {_number(factor)} times what it should be.\n"
            f"Likely cause: {cause}.")


def _likely_cause(factor: float, window: UpdateWindow) -> str:
    """What makes every weight `factor` times too large; "" when nothing usual does."""
    p, k, n = window.world_size, max(window.microbatch_counts), window.weight_sum
    causes = [(float(p), f"a factor P = {p} once too often, or ranks added where they are averaged"),
              (1 / p, f"a division by P = {p} once too often"),
              (float(k), f"K = {k} microbatches added where they are averaged"),
              (1 / k, f"a division by K = {k} once too often"),
              (float(p * k), f"neither P nor K divided (P·K = {p * k})"),
              (1 / (p * k), f"a division by P·K = {p * k} on top"),
              (n, f"no division by {_number(n)}"), (1 / n, f"a division by {_number(n)} once too often"),
              (2.0, "a lost ½ in the loss"), (0.5, "a ½ too many in the loss"),
              (-1.0, "the sign of the loss"), (-2.0, "the sign of the loss and a lost ½")]
    fitting = [words for value, words in causes if value != 1 and math.isclose(factor, value, rel_tol=1e-4)]
    return ", or ".join(dict.fromkeys(fitting[:1] + fitting[-1:]))


def _told_apart(one: float | Tensor, other: float | Tensor) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    pairs = [(_number(one, digits), _number(other, digits)) for digits in (4, 6, 9)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def _number(value: float | Tensor, digits: int = 4) -> str:
    """1/12 where that is exact and short, else four digits: any number is close to some long fraction."""
    value = float(value)
    fraction = Fraction(value).limit_denominator(5000) if math.isfinite(value) else Fraction(5001)
    short = fraction.denominator == 1 or abs(fraction.numerator) <= 20 or max(
        abs(fraction.numerator), fraction.denominator) < 1000
    if short and math.isclose(float(fraction), value, rel_tol=1e-9):
        return str(fraction)
    return f"{value:.{digits}g}"


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def _spread(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _ranks_words(ranks: Sequence[int]) -> str:
    *before, last = map(str, ranks)
    return f"ranks {', '.join(before)} and {last}" if before else f"rank {last}"


def _rank_list(counts: Sequence[int]) -> str:
    if len(counts) <= 3:
        return ", ".join(f"{count} on rank {r}" for r, count in enumerate(counts))
    shown = ", ".join(map(str, counts[:8])) + (", …" if len(counts) > 8 else "")
    return f"on ranks 0 to {len(counts) - 1}: {shown}"


def _microbatch_list(table: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"rank {r}: {'+'.join(map(str, row)) or '0'}" for r, row in enumerate(table[:4]))
    return shown + (", …" if len(table) > 4 else "")
