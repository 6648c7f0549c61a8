"""The lab of lesson 5: three dials on a window that one can edit, and what autograd keeps while one accumulates.

`lab()` turns divisor × microbatches × ranks, `table()` is the same without a kernel; `no_sync` has the time it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import MappingProxyType

import ipywidgets as widgets
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.dials import Explanation, Setting, diagnosis_key, explain_weights, predict_weights
from autograder.labs import figures
from autograder.labs.blocks import Block, block_frame, draw_blocks, multiple
from autograder.labs.figures import BLUE, TAUPE, VERMILLION, Picture
from autograder.labs.panel import YOUR_OWN, NoPicture, Panel
from autograder.labs.sheet import INK, Frame, Sheet
from autograder.window import UpdateWindow

DIVISORS = ("nothing", "microbatch", "rank", "window")
COMBINATIONS = ("sum", "mean")
MAX_RANKS, MAX_MICROBATCHES, MAX_COUNT = 4, 5, 40
HOW_TO_WRITE = (
    "Write the items of each microbatch, ranks separated by “/”: 1 4 0 / 2 3 5. "
    f"At most {MAX_RANKS} ranks, {MAX_MICROBATCHES} microbatches, {MAX_COUNT} items in each; at least one item in all."
)


# ---- three dials


@dataclass(frozen=True)
class State:
    """counts[r][k] = n_rk, and the three dials."""

    counts: tuple[tuple[int, ...], ...]
    divisor: str = "microbatch"
    microbatches: str = "mean"
    ranks: str = "mean"

    @property
    def setting(self) -> Setting:
        return Setting(self.divisor, self.microbatches, self.ranks)

    @cached_property
    def window(self) -> UpdateWindow:
        return UpdateWindow.from_counts(self.counts)

    def block_weights(self, setting: Setting | None = None) -> list[float]:
        """What one item of every microbatch weighs under these dials; 0 where there is no item."""
        weights = predict_weights(setting or self.setting, self.window)
        return block_weights(weights, self.counts)

    @cached_property
    def explanation(self) -> Explanation:
        """The reading of these weights that names the dials as they stand, or the best there is."""
        found = explain_weights(predict_weights(self.setting, self.window), self.window)
        return next((e for e in found if e.setting == self.setting), found[0])

    @cached_property
    def effects(self) -> dict[Setting, float | None]:
        """What every setting does here: the factor on all weights, or None when it changes the direction."""
        settings = [Setting(*dials) for dials in product(DIVISORS, COMBINATIONS, COMBINATIONS)]
        return {setting: _common_factor(self.window, setting) for setting in settings}

    @property
    def finding(self) -> str:
        """What this state shows, in one line."""
        factor = self.effects[self.setting]
        hidden = sum(f is not None and abs(f - 1) < 1e-9 for f in self.effects.values())
        right = self.setting == Setting()
        if factor is None:
            shares = [w * self.window.item_count for w, n in zip(
                self.block_weights(), (n for row in self.counts for n in row), strict=True) if n]
            return f"Items weigh between {min(shares):.3g}/N and {max(shares):.3g}/N: another direction"
        if abs(factor - 1) < 1e-9:
            also = f"; in this window {hidden - 1} other settings look right, too" if hidden > 1 else ""
            return f"Every item weighs 1/N{'' if right else ', here'}{also}"
        return f"Every item weighs {factor:.3g}/N: right direction, wrong scale"


def block_weights(weights: Tensor, counts: Sequence[Sequence[int]]) -> list[float]:
    """weights [N] in item order -> the weight of one item of every microbatch; 0 where there is no item."""
    parts = weights.split([n for row in counts for n in row])
    return [float(part.mean()) if len(part) else 0.0 for part in parts]


def window_blocks(counts: Sequence[Sequence[int]]) -> list[Block]:
    """The microbatches of counts[r][k], named by their items."""
    return [Block(r, n, str(n)) for r, row in enumerate(counts) for n in row]


def _common_factor(window: UpdateWindow, setting: Setting) -> float | None:
    shares = predict_weights(setting, window) * window.item_count
    return float(shares[0]) if float((shares - shares[0]).abs().max()) <= 1e-9 * float(shares[0]) else None


WINDOWS: Mapping[str, tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        "tells everything apart": ((1, 4, 0), (2, 3, 5)),
        "much like the lesson's": ((11, 30, 16), (13, 5)),
        "equal counts": ((4, 4), (4, 4)),
        "equal ranks": ((1, 7), (2, 6)),
        "one rank": ((1, 7, 4),),
        "one microbatch": ((3,), (9,)),
        "an empty rank": ((2, 6), (0, 0)),
        "unequal K": ((3, 3, 3, 3), (3,)),
    }
)


def table(windows: Mapping[str, tuple[tuple[int, ...], ...]] = WINDOWS) -> str:
    """Return what the plain settings do in these windows as a Markdown table, the lab without a kernel."""
    settings = list(State(next(iter(windows.values()))).effects)
    rows = [["divisor, microbatches, ranks", *windows]]
    rows.append(["---"] * len(rows[0]))
    rows.append(["*counts*", *(_written(counts) for counts in windows.values())])
    effects = [State(counts).effects for counts in windows.values()]
    for setting in settings:
        rows.append([str(setting), *(_effect(found[setting], "direction") for found in effects)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _effect(factor: float | None, other: str) -> str:
    if factor is None:
        return other
    return "✓" if abs(factor - 1) < 1e-9 else f"×{figures.fraction(factor, 100)}"


def _written(counts: Sequence[Sequence[int]]) -> str:
    return " / ".join(" ".join(map(str, row)) for row in counts)


def parsed(text: str) -> tuple[tuple[int, ...], ...]:
    """The window that "1 4 0 / 2 3 5" means; NoPicture, a ValueError, with how to write one."""
    rows = [re.split(r"[\s,]+", row.strip()) for row in text.split("/")]
    if not all(re.fullmatch(r"\d{1,3}", entry) for row in rows for entry in row):
        raise NoPicture(HOW_TO_WRITE)
    counts = tuple(tuple(map(int, row)) for row in rows)
    small = len(counts) <= MAX_RANKS and all(len(row) <= MAX_MICROBATCHES for row in counts)
    if not small or max(max(row) for row in counts) > MAX_COUNT or not any(map(any, counts)):
        raise NoPicture(HOW_TO_WRITE)
    return counts


def lab(state: State = State(WINDOWS["tells everything apart"])) -> AccumulationLab:
    """Return the lab of the three dials, set to `state`; the last line of a cell shows it."""
    return AccumulationLab(state)


class AccumulationLab(Panel):
    """A window to edit, three dials, what every item weighs, and what every other setting would do."""

    def __init__(self, state: State) -> None:
        self._counts = widgets.Text(description="counts", continuous_update=False)
        self._dials = {
            name: widgets.ToggleButtons(options=options, style={"button_width": "8em"}, layout={"width": "auto"})
            for name, options in (("divisor", DIVISORS), ("microbatches", COMBINATIONS), ("ranks", COMBINATIONS))
        }
        rows = [[widgets.Label(name, layout={"width": "7.5em"}), dial] for name, dial in self._dials.items()]
        super().__init__(WINDOWS, state, [[self._counts], *rows], "window")

    def read(self) -> State:
        return State(parsed(self._counts.value), *(dial.value for dial in self._dials.values()))

    def write(self, state: State) -> None:
        self._counts.value = _written(state.counts)
        for name, dial in self._dials.items():
            dial.value = getattr(state, name)

    def called(self, state: State) -> str:
        return next((name for name, counts in WINDOWS.items() if counts == state.counts), YOUR_OWN)

    def known(self, name: str) -> State:
        """The window of that name under the dials as they stand."""
        return State(WINDOWS[name], *(dial.value for dial in self._dials.values()))

    def draw(self, state: State) -> Picture:
        return picture(state)


def picture(state: State) -> Picture:
    """Draw what every item weighs, and what each of the sixteen settings does in this window."""
    weights, blocks = state.block_weights(), window_blocks(state.counts)
    sheet = Sheet(691, 246)
    sheet.headline(state.finding)
    top = 1.2 * max(1.0, *(w * state.window.item_count for w in weights))
    frame = block_frame(sheet, (35, 52, 325, 154), blocks, top)
    frame.title(f"weight of an item · N, N = {state.window.item_count}; below: items")
    draw_blocks(frame, blocks, weights)
    _draw_settings(sheet, state)
    key = diagnosis_key(state.setting, state.window)
    by_rank = iter(multiple(w * state.window.item_count) if b.items else "–"
                   for w, b in zip(weights, blocks, strict=True))
    shares = " / ".join(" ".join(next(by_rank) for _ in row) for row in state.counts)
    sentence = " ".join(state.explanation.sentence.splitlines())
    words = f"{state.finding}. Weight · N of the microbatches {_written(state.counts)}: {shares}. {sentence}"
    factor = state.effects[state.setting]
    if key and factor is not None and abs(factor - 1) < 1e-9:
        return Picture(sheet, f"{words} This window cannot show it; in another it is {key}.")
    return Picture(sheet, words + (f" A check calls this {key}." if key else ""))


def _draw_settings(sheet: Sheet, state: State) -> None:
    columns = list(product(COMBINATIONS, repeat=2))
    frame = Frame(sheet, (456, 52, 226, 154), (-0.52, 3.52), (3.52, -0.52))
    frame.title("what each setting does in this window")
    for row, divisor in enumerate(DIVISORS):
        sheet.text(frame.left - 6, frame.y(row), f"by {divisor}", anchor="end")
        for column, pair in enumerate(columns):
            setting = Setting(divisor, *pair)
            factor, current = state.effects[setting], setting == state.setting
            colour = VERMILLION if factor is None else BLUE if abs(factor - 1) < 1e-9 else TAUPE
            frame.bar(column - 0.44, column + 0.44, row + 0.4, row - 0.4, colour, edge=INK if current else "",
                      thick=2.6, of="current setting" if current else "setting")
            sheet.text(frame.x(column), frame.y(row), _effect(factor, "other\ndirection"), 8 if factor is None else 10,
                       colour="white")
    for column, pair in enumerate(columns):
        sheet.text(frame.x(column), frame.bottom + 2, "\n".join(pair), 9, stands="top")
    sheet.text(frame.x(1.5), frame.bottom + 26, "microbatches, ranks", 9.5, stands="top")


# ---- what accumulating holds in memory


class SavedBytes:
    """Meters the bytes that autograd keeps for backward passes: `with SavedBytes() as saved: …; saved.peak`."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._hooks = saved_tensors_hooks(self._keep, lambda kept: kept.tensor)

    def __enter__(self) -> SavedBytes:
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _keep(self, tensor: Tensor) -> _Kept:
        self.now += tensor.nbytes
        self.peak = max(self.peak, self.now)
        return _Kept(self, tensor)


class _Kept:
    """A saved tensor; autograd drops it when the backward pass no longer needs it."""

    def __init__(self, meter: SavedBytes, tensor: Tensor) -> None:
        self.meter, self.tensor = meter, tensor

    def __del__(self) -> None:
        self.meter.now -= self.tensor.nbytes
