"""The dials as declarations: every setting's name, what it computes, the words that explain it, and its key.

A new mistake is one new entry in one of the tables.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from autograder.dials.words import microbatch_list, number, rank_list, ranks_words, spread
from autograder.window import UpdateWindow


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
Applies = Callable[[UpdateWindow], bool]


@dataclass(frozen=True)
class Dial:
    """One position of a dial: its value is a tensor [N] or a number, and `phrase` says it in words.

    key: the diagnosis key where it is no plain position; applies: in which windows it means anything; plain: the plain
    position whose key it shares.
    """

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


def sequence_facts(where: str, window: UpdateWindow) -> tuple[Tensor, Tensor]:
    """For every item: the items of its sequence, and the number of sequences with items in its scope."""
    sequences = torch.tensor(window.sequence)[window.item_slots]
    numbered = window.item_groups * (int(sequences.max()) + 1) + sequences
    _, index, lengths = numbered.unique(return_inverse=True, return_counts=True)
    length = lengths.double()[index]
    return length, _per(where, 1 / length, window)


def _counts_of(where: str) -> Callable:
    return lambda w, s: _per(where, w.item_weights, w)


def _numbers_of(where: str) -> Callable:
    return lambda w, s: _per(where, torch.ones(w.item_count, dtype=torch.float64), w)


def _clamped(where: str) -> Callable:
    return lambda w, s: _per(where, w.item_weights, w).clamp(min=1.0)


def _per_round(window: UpdateWindow) -> Tensor:
    """For every item, the weights of the microbatches that have its microbatch's number, on all ranks."""
    sums = torch.zeros(max(window.microbatch_counts), dtype=torch.float64)
    return sums.index_add_(0, window.item_microbatches, window.item_weights)[window.item_microbatches]


def _round_words(w: UpdateWindow) -> str:
    sums = [str(sum(row[k] for row in w.counts if k < len(row))) for k in range(max(w.microbatch_counts))]
    told = "weights together" if w.is_weighted else f"count together ({', '.join(sums)} for k = 0, 1, …)"
    return f"the ranks' microbatches of one number k were divided by their {told}"


def _share_words(w: UpdateWindow) -> str:
    if w.is_weighted:
        return "each microbatch's mean entered with its rank's share of the weights"
    return f"each microbatch's mean entered with its rank's share n_r/N of the items ({rank_list(w.rank_counts)})"


def _several_of_both(w: UpdateWindow) -> bool:
    return w.world_size > 1 and max(w.microbatch_counts) > 1


def _rest(w: UpdateWindow, s: Setting) -> float:
    return float((w.item_weights * arrivals(s, w)).sum())


def _shard(w: UpdateWindow) -> int:
    return math.ceil(w.item_count / w.world_size)


def _has_padding(w: UpdateWindow) -> bool:
    return not all(w.valid)


def _has_sequences(w: UpdateWindow) -> bool:
    return w.sequence is not None and len(set(w.sequence)) > 0


def _shift_matters(w: UpdateWindow) -> bool:
    return w.unshifted_counts is not None and w.unshifted_counts != w.counts


def _small_weight(where: str) -> Applies:
    def applies(w: UpdateWindow) -> bool:
        weights = _per(where, w.item_weights, w)
        return w.is_weighted and bool(((weights > 0) & (weights < 1)).any())

    return applies


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


def _count_words(where: str, what: str = "items") -> Callable[[UpdateWindow], str]:
    def words(w: UpdateWindow) -> str:
        if w.is_weighted and what == "items":
            if where == "window":
                return f"the whole sum was divided by the window's weights (W = {number(w.weight_sum)})"
            return f"each {where}'s sum was divided by that {where}'s own weights"
        table = {"slots": w.slot_counts, "unshifted labels": w.unshifted_counts}.get(what, w.counts)
        extra = {"items": "", "slots": ", padding counted", "unshifted labels": " before the shift"}[what]
        if where == "microbatch":
            return f"each microbatch's sum was divided by its own count{extra} ({microbatch_list(table)})"
        totals = [sum(row) for row in table]
        if where == "rank":
            return f"each rank's sum was divided by that rank's own count{extra} ({rank_list(totals)})"
        name = "N = " if what == "items" else ""
        return f"the whole sum was divided by the window's count{extra} ({name}{sum(totals)})"

    return words


SCOPES = ("rank", "microbatch", "window")
_WITHIN = {"rank": "on the rank", "microbatch": "in the microbatch", "window": "in the window"}

# What the sum of item gradients is divided by: value(window, setting) -> [N].
DIVISORS: dict[str, Dial] = {
    "nothing": Dial(lambda w, s: 1.0, lambda w: "the sum was divided by no count"),
    **{where: Dial(_counts_of(where), _count_words(where)) for where in SCOPES},
    "round": Dial(lambda w, s: _per_round(w), _round_words, applies=_several_of_both, plain="microbatch"),
    "share": Dial(lambda w, s: _per("microbatch", w.item_weights, w) * w.weight_sum / _per("rank", w.item_weights, w),
                  _share_words, applies=_several_of_both, plain="microbatch"),
    "rest": Dial(_rest, lambda w: "what arrived was divided by its own count"),
    "wrapped": Dial(lambda w, s: float(w.world_size * _shard(w)),
                    lambda w: f"the sum was divided by {w.world_size * _shard(w)}, repeats counted"),
    "group": Dial(lambda w, s: _per("group", w.item_weights, w),
                  lambda w: "the count was summed over a group of ranks only (" + ", ".join(
                      f"{ranks_words(g)}: {sum(w.rank_counts[r] for r in g)}" for g in w.groups) + ")",
                  "wrong-group", lambda w: w.groups is not None),
    "repeated": Dial(lambda w, s: len(w.groups[0]) * _per("window", w.item_weights, w),
                     lambda w: f"the window's count was summed {len(w.groups[0])} times over, "
                     "once by each rank of a group",
                     "wrong-group", lambda w: w.groups is not None and len(w.groups[0]) > 1),
    "clamped-share": Dial(
        lambda w, s: max(1.0, w.weight_sum / w.world_size),
        lambda w: f"the sum was divided by 1, because N/P = {number(w.weight_sum / w.world_size)} "
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
        "clamped-count", _small_weight(where)) for where in SCOPES},
    **{f"number-{where}": Dial(
        _numbers_of(where), lambda w, where=where: f"the sum was divided by how many items there are {_WITHIN[where]}, "
        f"not by their weights (N = {w.item_count}, W = {number(w.weight_sum)})", "divided-by-items",
        lambda w: w.is_weighted) for where in SCOPES},
    **{f"padded-{where}": Dial(
        lambda w, s, where=where: _per_table(where, w.slot_counts, w), _count_words(where, "slots"),
        "padding-counted", _has_padding) for where in SCOPES},
    **{f"unshifted-{where}": Dial(
        lambda w, s, where=where: _per_table(where, w.unshifted_counts, w),
        _count_words(where, "unshifted labels"), "unshifted-count", _shift_matters) for where in SCOPES},
    **{f"sequences-{where}": Dial(
        lambda w, s, where=where: torch.mul(*sequence_facts(where, w)),
        lambda w, where=where: "each sequence's sum was divided by its own length and by the number of "
        f"sequences {_WITHIN[where]}", "sequence-mean", _has_sequences) for where in SCOPES},
    **{f"share-{where}": Dial(
        lambda w, s, where=where: _per(where, w.item_weights, w) * sequence_facts("window", w)[1]
        / sequence_facts(where, w)[1],
        lambda w, where=where: f"the token mean of each {where} was weighted by its share of the sequences",
        "sequence-mean", _has_sequences, only=(("sum", "sum"), ("sum", "mean")))
       for where in ("rank", "microbatch")},
    **{f"nominal-{where}": Dial(
        lambda w, s, where=where: float(_nominal(where, w)),
        lambda w, where=where: f"the sum {_WITHIN[where]} was divided by the configured "
        f"{_nominal(where, w)} items, not by those that are there", "nominal-batch-size",
        lambda w: w.nominal_batch_size is not None) for where in SCOPES},
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
                 lambda w: f"microbatches were averaged (K = {spread(w.microbatch_counts)})"),
    "configured": Dial(lambda w: float(w.accumulation_steps),
                       lambda w: f"microbatches were divided by the configured K = {w.accumulation_steps} "
                       f"(here there were {spread(w.microbatch_counts)})",
                       "full-window-divisor-on-partial-window",
                       lambda w: max(w.microbatch_counts) < w.accumulation_steps),
    "longest": Dial(lambda w: float(max(w.microbatch_counts)),
                    lambda w: f"microbatches were divided by the largest K = {max(w.microbatch_counts)}",
                    applies=lambda w: len(set(w.microbatch_counts)) > 1, plain="mean"),
    "every": Dial(lambda w: float(sum(w.microbatch_counts)),
                  lambda w: f"the {sum(w.microbatch_counts)} microbatches of all ranks were averaged",
                  applies=lambda w: len(set(w.microbatch_counts)) > 1, plain="mean"),
    "nonempty": Dial(lambda w: _own_k(w, [sum(n > 0 for n in row) for row in w.counts]),
                     lambda w: "microbatches with items were averaged "
                     f"(K = {spread([sum(n > 0 for n in row) for row in w.counts])})",
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
                  f"{spread([len(g) for g in w.groups])})", "wrong-group", lambda w: w.groups is not None),
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
BASIC_KEYS: dict[tuple[str, str, str], str | None] = {
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
    key = BASIC_KEYS[tuple(dial.plain or name for dial, name in zip(dials[2:], names, strict=True))]
    return "duplicated-items" if key is None and bool((window.item_copies > 1).any()) else key


def arrivals(setting: Setting, window: UpdateWindow) -> Tensor:
    """1 for every item whose gradient arrives, else 0."""
    arrived = KEPT[setting.kept].value(window)
    for r in setting.lost_ranks:
        arrived = arrived * (window.item_ranks != r)
    return arrived
