"""The lab of lesson 3 and its pictures: counts, a loss, a factor and a reducer make a weight for every item.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import ipywidgets as widgets

from autograder.labs import figures
from autograder.labs.figures import BLUE, GREEN, TAUPE, VERMILLION, Picture
from autograder.labs.panel import NoPicture, Panel
from autograder.labs.sheet import DASHED, DOTTED, FAINT, Frame, Sheet, round_ticks, text_width

MAX_RANKS = 4
MAX_COUNT = 12
LOSSES = ("local mean", "local sum")
FACTORS = ("1", "n_r/N", "P·n_r/N", "1/N", "P/N")
REDUCERS = ("mean", "sum")
NO_ITEM = "No rank has an item: N = 0, and a mean over no items is an error."


@dataclass(frozen=True)
class State:
    """counts[r] = n_r; what a rank's loss is, what it is multiplied by, and how ranks combine."""

    counts: tuple[int, ...]
    loss: str = "local mean"
    factor: str = "1"
    reducer: str = "mean"

    @property
    def world_size(self) -> int:
        """P."""
        return len(self.counts)

    @property
    def item_count(self) -> int:
        """N."""
        return sum(self.counts)

    @property
    def share(self) -> float:
        """1/N, what every item should weigh. N must be positive."""
        return 1 / self.item_count

    @property
    def factors(self) -> tuple[float, ...]:
        """What rank r's loss is multiplied by."""
        P, N = self.world_size, self.item_count
        of_rank = {"1": lambda n: 1.0, "n_r/N": lambda n: n / N, "P·n_r/N": lambda n: P * n / N,
                   "1/N": lambda n: 1 / N, "P/N": lambda n: P / N}
        return tuple(of_rank[self.factor](n) for n in self.counts)

    @property
    def weights(self) -> tuple[float, ...]:
        """What one item of rank r weighs in the update; 0 where there is no item."""
        ranks = self.world_size if self.reducer == "mean" else 1
        divisors = [n if self.loss == "local mean" else 1 for n in self.counts]
        return tuple(c / (d * ranks) if n else 0.0
                     for c, d, n in zip(self.factors, divisors, self.counts, strict=True))

    @property
    def total(self) -> float:
        """All weights together; 1 in every average."""
        return sum(w * n for w, n in zip(self.weights, self.counts, strict=True))

    @property
    def finding(self) -> str:
        """What this state shows, in one line."""
        shares = {r: w / self.share for r, (w, n) in enumerate(zip(self.weights, self.counts, strict=True)) if n}
        least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
        if shares[most] - shares[least] < 1e-9:
            if abs(shares[most] - 1) < 1e-9:
                return "Every item weighs 1/N: this is the item mean"
            return f"Every item weighs {figures.fraction(shares[most])} of its share: right direction, wrong scale"
        ratio = shares[most] / shares[least]
        return f"An item of rank {most} counts {ratio:.3g} times as much as one of rank {least}: another objective"


STATES: Mapping[str, State] = MappingProxyType(
    {
        "DDP, local means": State((2, 6)),
        "the repair": State((2, 6), factor="P·n_r/N"),
        "the repair without P": State((2, 6), factor="n_r/N"),
        "the same, but summed": State((2, 6), factor="n_r/N", reducer="sum"),
        "sums, divided once": State((2, 6), "local sum", "1/N", "sum"),
        "sums under a mean": State((2, 6), "local sum", "1/N", "mean"),
        "an empty rank": State((2, 6, 0)),
        "an empty rank, repaired": State((2, 6, 0), factor="P·n_r/N"),
        "equal counts": State((4, 4)),
    }
)


def table(states: Mapping[str, State] = STATES) -> str:
    """Return the states as a Markdown table, the reading of the lab without a kernel."""
    rows = [["state", "counts n_r", "loss", "factor", "reducer", "one item of each rank weighs", "1/N",
             "all together"], ["---"] * 8]
    for name, state in states.items():
        weights = (figures.fraction(w) if n else "–" for n, w in zip(state.counts, state.weights, strict=True))
        rows.append([name, ", ".join(map(str, state.counts)), state.loss, state.factor, state.reducer,
                     ", ".join(weights), figures.fraction(state.share), figures.fraction(state.total)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lab(state: State = STATES["DDP, local means"]) -> UnevenRanksLab:
    """Return the lab, set to `state`; the last line of a cell shows it."""
    return UnevenRanksLab(state)


class UnevenRanksLab(Panel):
    """Counts of up to four ranks, loss, factor and reducer."""

    def __init__(self, state: State) -> None:
        self._ranks = widgets.IntSlider(min=1, max=MAX_RANKS, description="ranks P")
        self._counts = [widgets.IntSlider(min=0, max=MAX_COUNT, description=f"items n_{r}") for r in range(MAX_RANKS)]
        self._loss = _buttons("loss", LOSSES)
        self._factor = _buttons("times", FACTORS)
        self._reducer = _buttons("ranks", REDUCERS)
        super().__init__(STATES, state, [[self._ranks], self._counts[:2], self._counts[2:],
                                         [self._loss, self._reducer], [self._factor]])

    def read(self) -> State:
        counts = tuple(self._counts[r].value for r in range(self._ranks.value))
        return State(counts, self._loss.value, self._factor.value, self._reducer.value)

    def write(self, state: State) -> None:
        self._ranks.value = state.world_size
        for slider, count in zip(self._counts, state.counts, strict=False):
            slider.value = count
        self._loss.value, self._factor.value, self._reducer.value = state.loss, state.factor, state.reducer

    def draw(self, state: State) -> Picture:
        for r, slider in enumerate(self._counts):
            slider.layout.visibility = "visible" if r < state.world_size else "hidden"
        self._rows[2].layout.display = "" if state.world_size > 2 else "none"
        return picture(state)


def picture(state: State) -> Picture:
    """Draw a bar for every rank, as wide as it has items and as high as one of them weighs."""
    if state.item_count == 0:
        raise NoPicture(NO_ITEM)
    edges, end = [], 0.0
    for n in state.counts:
        edges.append((end, end + n))
        end += n + (0.12 if n else 0.18) * state.item_count
    end -= 0.06 * state.item_count
    largest = max(state.share, *state.weights)
    sheet = Sheet(634, 238)
    sheet.headline(state.finding)
    share_note = f"1/N = {figures.fraction(state.share)}"
    room = 8 + text_width(share_note, 9.5)
    frame = Frame(sheet, (56, 36, 570 - room, 150), (-0.06 * state.item_count, end), (0, 1.12 * largest))
    for r, (left, right) in enumerate(edges):
        weight = state.weights[r]
        frame.bar(left, right, 0.0, weight, figures.weight_colour(weight, state.share), of=f"rank {r}")
    frame.line([(-0.05 * state.item_count, state.share), (end, state.share)], thick=1.3, dashes=DASHED, of="share")
    sheet.text(frame.right + 5, frame.y(state.share), share_note, 9.5, anchor="start")
    frame.left_axis({0: "0", largest: figures.fraction(largest)}, "effective weight (1)")
    narrow = 0.7 * frame.width / state.world_size < text_width("rank 0, 10 items")
    frame.bottom_axis({
        (left + right) / 2: f"rank {r},{chr(10) if narrow else ' '}{n} item{'s' * (n != 1)}\n"
        + (figures.weight_note(state.weights[r], state.share) if n else "no weight")
        for r, (n, (left, right)) in enumerate(zip(state.counts, edges, strict=True))}, tick=0)
    weights = "; ".join(
        f"rank {r}: {n} item{'s' * (n != 1)} of {figures.weight_note(w, state.share)} each" if n
        else f"rank {r}: no item"
        for r, (n, w) in enumerate(zip(state.counts, state.weights, strict=True)))
    factors = ", ".join(figures.fraction(c) for c in state.factors)
    words = (f"{state.finding}. {weights}. The width of a bar is the number of items, its area what the rank "
             f"weighs; all areas together are {figures.fraction(state.total)}. Factors by rank: {factors}.")
    return Picture(sheet, words)


def _buttons(name: str, options: Sequence[str]) -> widgets.ToggleButtons:
    buttons = widgets.ToggleButtons(options=options, description=name)
    buttons.style.button_width = "7.5em"
    return buttons


# ---- pictures of the lesson


@dataclass(frozen=True)
class Poisoning:
    """What one way of treating an empty rank did: the loss and the gradients' entries by rank."""

    losses: tuple[float, ...]
    before: tuple[bool, ...]  # whether rank r's own gradient had a NaN
    after: tuple[bool, ...]  # whether the gradient that rank r ended with had one


def poison_picture(cases: Mapping[str, Poisoning], title: str, words: str) -> Picture:
    """Draw for each case where a NaN was: in the losses, in the ranks' own gradients, in what they stepped with."""
    world_size = len(next(iter(cases.values())).losses)
    sheet = Sheet(677, 84 + 36 * len(cases))
    sheet.headline(title)
    first = 34 + max(map(text_width, cases))
    step = (sheet.width - first - 24) / (3 * world_size + 1)
    for block, name in enumerate(("loss", "own gradient", "after the reduction")):
        at = [first + step * (block * (world_size + 0.5) + rank) for rank in range(world_size)]
        sheet.text((at[0] + at[-1]) / 2, 40, name, face="bold")
        for rank, x in enumerate(at):
            sheet.text(x, 56, f"rank {rank}", 9)
        for row, case in enumerate(cases.values()):
            marks = ([math.isnan(x) for x in case.losses], case.before, case.after)[block]
            for x, bad in zip(at, marks, strict=True):
                y = 82 + 36 * row
                sheet.rectangle(x - 0.42 * step, y - 13, 0.84 * step, 26, VERMILLION if bad else BLUE, rounded=3)
                sheet.text(x, y, "NaN" if bad else "ok", 9.5, colour="white", face="bold", of="mark")
    for row, name in enumerate(cases):
        sheet.text(8, 82 + 36 * row, name, anchor="start")
    return Picture(sheet, words)


def apart_picture(
    parameters: Mapping[str, Sequence[float]], gradients: Mapping[str, Sequence[float]], event: int, title: str,
    words: str,
) -> Picture:
    """Draw how far apart two replicas' gradients and parameters are over the steps, for several optimizers.

    parameters, gradients: optimizer -> largest difference between ranks after each step. event: the step from which
    one rank is without its state.
    """
    looks = ((BLUE, "", "circle"), (VERMILLION, "", "square"), (TAUPE, DASHED, "diamond"), (GREEN, DOTTED, "up"))
    top = 1.15 * max(max(series) for series in parameters.values())
    last = max(len(series) for series in parameters.values())
    sheet = Sheet(662, 252)
    sheet.headline(title)
    for column, (name, group) in enumerate((("gradients", gradients), ("parameters", parameters))):
        frame = Frame(sheet, (52 + 336 * column, 50, 264, 152), (0.6, last + 0.4), (-0.04 * top, top))
        frame.title(f"largest difference of {name} between ranks")
        frame.line([(event, 0), (event, top)], FAINT, 1)
        sheet.text(frame.x(event) + 4, frame.y(0.95 * top), "rank 1 loses its state", 9, anchor="start")
        for (colour, dashes, shape), (optimizer, series) in zip(looks, group.items(), strict=False):
            frame.line(enumerate(series, start=1), colour, 1.5, dashes, of=optimizer)
            for step, value in enumerate(series, start=1):
                sheet.marker(frame.x(step), frame.y(value), shape, 5, colour)
        frame.left_axis(round_ticks(0, top), "difference (units of the entry)")
        frame.bottom_axis(round_ticks(1, last, 8, least_step=1), "step")
        if column == 0:  # where all lines lie on zero
            for row, ((colour, dashes, shape), optimizer) in enumerate(zip(looks, group, strict=False)):
                x, y = frame.right - 12 - max(map(text_width, group)), 106 + 14 * row
                sheet.line([(x - 26, y), (x - 4, y)], colour, 1.5, dashes)
                sheet.marker(x - 15, y, shape, 5, colour)
                sheet.text(x, y, optimizer, 9, anchor="start")
    return Picture(sheet, words)
