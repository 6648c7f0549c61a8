"""The lab of lesson 3 and its pictures: counts, a loss, a factor and a reducer make a weight for every item.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import ipywidgets as widgets
from matplotlib.patches import FancyBboxPatch

from autograder.labs import figures
from autograder.labs.figures import BLUE, FAINT, GREEN, INK, TAUPE, VERMILLION

MAX_RANKS = 4
MAX_COUNT = 12
LOSSES = ("local mean", "local sum")
FACTORS = ("1", "n_r/N", "P·n_r/N", "1/N", "P/N")
REDUCERS = ("mean", "sum")
NO_ITEM = "<p><b>No rank has an item: N = 0, and a mean over no items is an error.</b></p>"


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


class UnevenRanksLab(widgets.VBox):
    """Counts of up to four ranks, loss, factor and reducer, and the weights that follow from them."""

    def __init__(self, state: State) -> None:
        self._drawing = _Drawing()
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *STATES], description="start from")
        self._ranks = widgets.IntSlider(min=1, max=MAX_RANKS, description="ranks P")
        self._counts = [widgets.IntSlider(min=0, max=MAX_COUNT, description=f"items n_{r}") for r in range(MAX_RANKS)]
        self._more_counts = widgets.HBox(self._counts[2:])
        self._loss = _buttons("loss", LOSSES)
        self._factor = _buttons("times", FACTORS)
        self._reducer = _buttons("ranks", REDUCERS)
        self._view = widgets.HTML()
        super().__init__([
            widgets.HBox([self._presets, self._ranks]),
            widgets.HBox(self._counts[:2]), self._more_counts,
            widgets.HBox([self._loss, self._reducer]), self._factor, self._view])
        self.state = state
        self._presets.observe(self._take_preset, "value")
        for control in (self._ranks, *self._counts, self._loss, self._factor, self._reducer):
            control.observe(self._moved, "value")

    @property
    def state(self) -> State:
        """What the controls say."""
        counts = tuple(self._counts[r].value for r in range(self._ranks.value))
        return State(counts, self._loss.value, self._factor.value, self._reducer.value)

    @state.setter
    def state(self, state: State) -> None:
        self._setting = True
        try:
            self._ranks.value = state.world_size
            for slider, count in zip(self._counts, state.counts, strict=False):
                slider.value = count
            self._loss.value, self._factor.value, self._reducer.value = state.loss, state.factor, state.reducer
            self._presets.value = next((name for name, known in STATES.items() if known == state), "your own")
        finally:
            self._setting = False
        self._show()

    def _take_preset(self, change: dict) -> None:
        if not self._setting and change["new"] in STATES:
            self.state = STATES[change["new"]]

    def _moved(self, _: dict) -> None:
        if not self._setting:
            self.state = self.state

    def _show(self) -> None:
        for r, slider in enumerate(self._counts):
            slider.layout.visibility = "visible" if r < self._ranks.value else "hidden"
        self._more_counts.layout.display = "" if self._ranks.value > 2 else "none"
        if self.state.item_count == 0:
            self._view.value = NO_ITEM
            return
        self._drawing.show(self.state)
        self._view.value = self._drawing.picture(self.state)._repr_html_()


class _Drawing:
    """One figure whose artists follow a state: a bar as wide as the rank has items, as high as one of them weighs."""

    def __init__(self) -> None:
        with figures.style():
            self._figure = figures.new_figure(8.8, 3.3)
            self._title = self._figure.text(0.01, 0.93, "", fontsize=12, fontweight="bold")
            self._axes = axes = self._figure.add_axes((0.085, 0.22, 0.9, 0.62))
            axes.set_ylabel("effective weight (1)")
            self._bars = axes.bar(range(MAX_RANKS), [0.0] * MAX_RANKS, align="edge")
            (self._share,) = axes.plot([], [], color=INK, linewidth=1.3, linestyle=(0, (4, 3)))
            self._share_note = axes.text(0, 0, "", va="center", fontsize=9.5)
            axes.tick_params(axis="x", length=0)

    def show(self, state: State) -> None:
        """Move the artists to `state`."""
        axes, left, ticks, labels = self._axes, 0.0, [], []
        with figures.style():
            self._title.set_text(state.finding)
            for r, bar in enumerate(self._bars):
                bar.set_visible(r < state.world_size)
                if r >= state.world_size:
                    continue
                n, weight = state.counts[r], state.weights[r]
                bar.set_bounds(left, 0.0, n, weight)
                bar.set_color(figures.weight_colour(weight, state.share))
                ticks.append(left + n / 2)
                labels.append(f"rank {r}, {n} item{'s' * (n != 1)}\n"
                              + (figures.weight_note(weight, state.share) if n else "no weight"))
                left += n + 0.12 * state.item_count + (0.06 * state.item_count if n == 0 else 0.0)
            right = left - 0.06 * state.item_count
            self._share.set_data([-0.05 * state.item_count, right], [state.share] * 2)
            self._share_note.set_position((right, state.share))
            self._share_note.set_text(f" 1/N = {figures.fraction(state.share)}")
            largest = max(state.share, *state.weights)
            axes.set_ylim(0, 1.12 * largest)
            axes.set_yticks([0, largest], ["0", figures.fraction(largest)])
            axes.set_xlim(-0.06 * state.item_count, right + 0.16 * (right + state.item_count * 0.1))
            axes.set_xticks(ticks, labels)

    def picture(self, state: State) -> figures.Picture:
        """Return the figure with the same content in words."""
        weights = "; ".join(
            f"rank {r}: {n} item{'s' * (n != 1)} of {figures.weight_note(w, state.share)} each" if n
            else f"rank {r}: no item"
            for r, (n, w) in enumerate(zip(state.counts, state.weights, strict=True)))
        factors = ", ".join(figures.fraction(c) for c in state.factors)
        words = (f"{state.finding}. {weights}. The width of a bar is the number of items, its area what the rank "
                 f"weighs; all areas together are {figures.fraction(state.total)}. Factors by rank: {factors}.")
        return figures.Picture(self._figure, words)


def _buttons(name: str, options: Sequence[str]) -> widgets.ToggleButtons:
    buttons = widgets.ToggleButtons(options=options, description=name)
    buttons.style.button_width = "7.5em"
    return buttons


# ---- pictures of the lesson


def weight_bars(panels: Mapping[str, Sequence[Sequence[float]]], title: str, words: str) -> figures.Picture:
    """Draw `figures.weight_bars` with one more line under each rank, so that neighbours with few items have room."""
    picture = figures.weight_bars(panels, title, words)
    with figures.style():
        for axes in picture.figure.axes:
            labels = [tick.get_text().replace(" = ", "\n= ") for tick in axes.get_xticklabels()]
            axes.set_xticks(axes.get_xticks(), labels)
        picture.figure.set_figheight(picture.figure.get_figheight() + 0.2)
        picture.figure.tight_layout(rect=(0, 0, 1, 1.03))
    return picture


@dataclass(frozen=True)
class Poisoning:
    """What one way of treating an empty rank did: the loss and the gradients' entries by rank."""

    losses: tuple[float, ...]
    before: tuple[bool, ...]  # whether rank r's own gradient had a NaN
    after: tuple[bool, ...]  # whether the gradient that rank r ended with had one


def poison_picture(cases: Mapping[str, Poisoning], title: str, words: str) -> figures.Picture:
    """Draw for each case where a NaN was: in the losses, in the ranks' own gradients, in what they stepped with."""
    world_size = len(next(iter(cases.values())).losses)
    blocks = ("loss", "own gradient", "after the reduction")
    with figures.style():
        figure = figures.new_figure(9.4, 1.1 + 0.5 * len(cases))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0 - 0.36 / figure.get_figheight()))
        axes.axis("off")
        axes.set_xlim(-4.6, 3 * (world_size + 0.5))
        axes.set_ylim(len(cases) - 0.4, -1.45)
        for block, name in enumerate(blocks):
            start = block * (world_size + 0.5)
            axes.text(start + (world_size - 1) / 2, -1.08, name, ha="center", va="center", fontweight="bold")
            for rank in range(world_size):
                axes.text(start + rank, -0.66, f"rank {rank}", ha="center", va="center", fontsize=9)
        for row, (name, case) in enumerate(cases.items()):
            axes.text(-4.5, row, name, ha="left", va="center")
            for block, marks in enumerate(([math.isnan(x) for x in case.losses], case.before, case.after)):
                for rank, bad in enumerate(marks):
                    _mark(axes, block * (world_size + 0.5) + rank, row, bad)
        figure.suptitle(title, x=0.01, y=0.99, ha="left", va="top", fontsize=12, fontweight="bold")
    return figures.Picture(figure, words)


def _mark(axes, column: float, row: int, bad: bool) -> None:
    colour = VERMILLION if bad else BLUE
    axes.add_patch(FancyBboxPatch((column - 0.42, row - 0.36), 0.84, 0.72, linewidth=0, facecolor=colour,
                                  boxstyle="round,pad=0,rounding_size=0.08"))
    axes.text(column, row, "NaN" if bad else "ok", ha="center", va="center", color="white", fontweight="bold",
              fontsize=9.5)


def apart_picture(
    parameters: Mapping[str, Sequence[float]], gradients: Mapping[str, Sequence[float]], event: int, title: str,
    words: str,
) -> figures.Picture:
    """Draw how far apart two replicas' gradients and parameters are over the steps, for several optimizers.

    parameters, gradients: optimizer -> largest difference between ranks after each step. event: the step from which
    one rank is without its state.
    """
    looks = ((BLUE, "-", "o"), (VERMILLION, "-", "s"), (TAUPE, (0, (4, 2)), "D"), (GREEN, (0, (1, 1)), "^"))
    top = 1.15 * max(max(series) for series in parameters.values())
    with figures.style():
        figure = figures.new_figure(9.2, 3.5)
        for column, (name, group) in enumerate((("gradients", gradients), ("parameters", parameters)), start=1):
            axes = figure.add_subplot(1, 2, column)
            for (colour, dashes, marker), (optimizer, series) in zip(looks, group.items(), strict=False):
                axes.plot(range(1, len(series) + 1), series, color=colour, linestyle=dashes, marker=marker, ms=5,
                          label=optimizer)
            axes.axvline(event, color=FAINT, linewidth=1)
            axes.text(event, top * 0.97, " rank 1 loses its state", fontsize=9, va="top")
            axes.set_title(f"largest difference of {name} between ranks")
            axes.set_ylim(-0.04 * top, top)
            axes.set_xlabel("step")
            axes.set_ylabel("difference (units of the entry)")
        figure.axes[0].legend(fontsize=9, loc="center right")  # where all lines lie on zero
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.02))
    return figures.Picture(figure, words)


