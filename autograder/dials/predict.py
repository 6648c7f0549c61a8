"""Which settings a window offers, and the weights that each gives the items."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product

import torch
from torch import Tensor

from autograder.dials.settings import (
    BASIC_KEYS,
    DIVISORS,
    ITEMS,
    KEPT,
    MICROBATCHES,
    RANKS,
    RIGHT,
    SCOPES,
    Dial,
    Setting,
    arrivals,
    diagnosis_key,
)
from autograder.window import UpdateWindow

MANY_ITEMS = 5000  # above, lost ranks and the like are not looked for: the table of settings stays small
_PLAIN_RANKS = ("sum", "mean")


def predict_weights(setting: Setting, window: UpdateWindow) -> Tensor:
    """The weights [N] that a step with these dials gives the items, float64, in item order."""
    return weights_of([setting], window)[0]


def catalogue(window: UpdateWindow) -> list[Setting]:
    """Every setting that means something in this window, the most plausible first."""
    return [s for s in _declared(window) if s != RIGHT or bool((window.item_copies > 1).any())]


def ambiguous(window: UpdateWindow, rtol: float = 1e-3) -> list[tuple[Setting, Setting]]:
    """Pairs of settings with different keys that this window cannot tell apart: their weights agree to rtol.

    A pair whose first setting is RIGHT is a mistake that looks right here.
    """
    settings = [RIGHT, *(s for s in catalogue(window) if s != RIGHT)]
    keys = [diagnosis_key(s, window) for s in settings]
    table = torch.cat([window.expected_weights[None], weights_of(settings[1:], window)])
    distance = torch.cdist(table, table, p=torch.inf)
    size = torch.maximum(table.abs().amax(-1)[:, None], table.abs().amax(-1)[None])
    close = (distance <= rtol * size).triu(diagonal=1).nonzero().tolist()
    return [(settings[i], settings[j]) for i, j in close if keys[i] != keys[j]]


@lru_cache(maxsize=8)
def predictions(window: UpdateWindow) -> tuple[list[Setting], Tensor]:
    """The settings that are compared in this window, and their weights [S, N]."""
    settings = [s for s in catalogue(window) if not turns_nothing(s, window)]
    if window.item_count > MANY_ITEMS:
        settings = [s for s in settings if s == Setting(s.divisor, s.microbatches, s.ranks)]
    return settings, weights_of(settings, window)


def plain_readings(window: UpdateWindow) -> list[tuple[Setting | None, Tensor]]:
    """The right weights, the plain dials, and whole factors P, K and P·K on the right weights."""
    plain = [s for s in map(lambda dials: Setting(*dials), BASIC_KEYS)
             if s != RIGHT and not turns_nothing(s, window)]
    p, k = window.world_size, max(window.microbatch_counts)
    return [(RIGHT, window.expected_weights), *zip(plain, weights_of(plain, window), strict=True),
            *((None, factor * window.expected_weights) for factor in (p, k, p * k) if factor > 1)]


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
    yield from (Setting(*dials) for dials in BASIC_KEYS)
    for items in offered(ITEMS, ["unweighted"]):
        yield from turned([name for name in special if name.startswith("number-")], _PLAIN_RANKS, items)
        yield from turned(SCOPES, _PLAIN_RANKS, items)
    yield from turned(special, _PLAIN_RANKS)
    plain = ("nothing", *SCOPES)
    yield from (Setting(*dials) for dials in product(plain, micros[2:], _PLAIN_RANKS))
    across = [name for name in ("round", "share") if DIVISORS[name].applies(window)]
    yield from (Setting(*dials) for dials in product(across, micros, _PLAIN_RANKS))
    yield from (Setting(*dials) for dials in product(SCOPES, micros, offered(RANKS, ["active", "twice"])))
    yield from (Setting("wrapped", items=name) for name in offered(ITEMS, ["wrapped"]))
    holders = [r for r, count in enumerate(window.rank_counts) if count]
    lost = [(r,) for r in holders] if len(holders) > 1 else []
    lost += [tuple(q for q in holders if q != r) for r in holders] if len(holders) > 2 else []
    remaining = list(product(("window", "rest", "rank", "microbatch"), ("sum", "mean"), _PLAIN_RANKS))
    yield from (Setting(*dials, lost_ranks=ranks) for ranks in lost for dials in remaining)
    for kept in offered(KEPT, ["last", "first"]):
        yield from (Setting(*dials, kept=kept) for dials in remaining)


def turns_nothing(setting: Setting, window: UpdateWindow) -> bool:
    """With one rank or one microbatch a dial does nothing: the setting that leaves it alone has the name."""
    one_rank = window.world_size == 1 and (
        setting.ranks in ("mean", "twice") or setting.divisor.endswith("rank"))
    one_microbatch = max(window.microbatch_counts) <= 1 and (
        setting.microbatches == "mean" or setting.divisor.endswith("microbatch"))
    return one_rank or one_microbatch


def weights_of(settings: Sequence[Setting], window: UpdateWindow) -> Tensor:
    """The predicted weights [S, N] of many settings; each value of a dial is computed once.

    An item of sample weight 0 weighs nothing, even where the weights that it is divided by are 0, too; NaN where a
    setting divides more than nothing by 0.
    """
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
            known[place] = arrivals(setting, window)
        return known[place]

    entered = torch.stack([value(ITEMS, s.items) for s in settings])
    entered = entered * torch.stack([arrived(s) for s in settings])
    divisor = torch.stack([value(DIVISORS, s.divisor, s if s.divisor == "rest" else RIGHT) for s in settings])
    divisor = divisor * torch.stack([value(MICROBATCHES, s.microbatches) for s in settings])
    weights = entered / (divisor * torch.stack([value(RANKS, s.ranks) for s in settings]))
    return weights.masked_fill(weights.isinf(), torch.nan).masked_fill(entered == 0, 0.0)
