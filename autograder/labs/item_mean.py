"""The lab of lesson 1: set every rank's count and mean gradient; see both means and what every item weighs.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import ipywidgets as widgets

from autograder.dials import Setting, predict_weights
from autograder.labs import figures
from autograder.labs.figures import BLUE, GREY, VERMILLION, Picture
from autograder.labs.panel import NoPicture, Panel
from autograder.labs.sheet import DASHED, FAINT, INK, Frame, Sheet
from autograder.window import UpdateWindow

MEAN_OF_RANK_MEANS = Setting("rank", "sum", "mean")
MAX_RANKS = 4
MAX_COUNT = 12
MEAN_LIMIT = 6.0
NO_ITEM = "No rank has an item: N = 0, and a mean over no items is an error."


@dataclass(frozen=True)
class State:
    """counts[r] = n_r items on rank r, whose gradients (scalars) have the local mean means[r]."""

    counts: tuple[int, ...]
    means: tuple[float, ...]

    @property
    def world_size(self) -> int:
        """P."""
        return len(self.counts)

    @property
    def item_count(self) -> int:
        """N."""
        return sum(self.counts)

    @property
    def item_mean(self) -> float:
        """(1/N) Σ n_r ḡ_r, the item mean. N must be positive."""
        return sum(n * mean for n, mean in zip(self.counts, self.means, strict=True)) / self.item_count

    @property
    def rank_mean_weights(self) -> tuple[float, ...]:
        """What one item of rank r weighs in the mean of rank means, 1/(P n_r); 0 where there is no item."""
        weights = predict_weights(MEAN_OF_RANK_MEANS, UpdateWindow.from_counts(self.counts))
        by_rank = weights.split(self.counts)
        return tuple(part[0].item() if len(part) else 0.0 for part in by_rank)

    @property
    def rank_mean(self) -> float:
        """(1/P) Σ ḡ_r, the mean of rank means; an empty rank adds 0 and still counts, as in DDP."""
        terms = zip(self.rank_mean_weights, self.counts, self.means, strict=True)
        return sum(weight * n * mean for weight, n, mean in terms if n)

    @property
    def scales(self) -> tuple[float, ...]:
        """P n_r/N, what rank r's local mean is multiplied by so that the mean over ranks is the item mean."""
        return tuple(self.world_size * n / self.item_count for n in self.counts)

    @property
    def finding(self) -> str:
        """What this state shows, in one line."""
        right, other = self.item_mean, self.rank_mean
        both = f"The mean of rank means, {_number(other)}, is"
        if abs(other - right) <= 1e-12:
            if len(set(self.counts)) == 1:
                return f"Equal counts: both means are {_number(right)}"
            return f"Both means are {_number(right)}, though the weights differ: luck, not a rule"
        if right * other < 0:
            return f"The mean of rank means points the other way: {_number(other)}, not {_number(right)}"
        if right == 0:
            return f"The mean of rank means is {_number(other)} where the item mean is 0"
        if abs(other) >= 2 * abs(right):
            return f"{both} {other / right:.3g} times the item mean, {_number(right)}"
        percent = 100 * (other / right - 1)
        side = "long" if percent > 0 else "short"
        return f"{both} {abs(percent):.3g} % too {side}: the item mean is {_number(right)}"


STATES: Mapping[str, State] = MappingProxyType(
    {
        "worked example": State((2, 6), (1.0, 3.0)),
        "equal counts": State((4, 4), (1.0, 3.0)),
        "equal means": State((2, 6), (3.0, 3.0)),
        "the other way": State((1, 9), (5.0, -1.0)),
        "an empty rank": State((2, 6, 0), (1.0, 3.0, 0.0)),
        "four ranks": State((1, 2, 3, 12), (4.0, 2.0, 2.0, -1.0)),
    }
)


def table(states: Mapping[str, State] = STATES) -> str:
    """Return the states as a Markdown table, the reading of the lab without a kernel."""
    titles = ["state", "counts n_r", "local means ḡ_r", "item mean", "mean of rank means"]
    rows = [[*titles, "there, one item of each rank weighs", "and should weigh 1/N"], ["---"] * 7]
    for name, state in states.items():
        means = (_number(mean) if n else "–" for n, mean in zip(state.counts, state.means, strict=True))
        weights = (figures.fraction(w) if w else "–" for w in state.rank_mean_weights)
        rows.append(
            [
                name,
                ", ".join(map(str, state.counts)),
                ", ".join(means),
                _number(state.item_mean),
                _number(state.rank_mean),
                ", ".join(weights),
                figures.fraction(1 / state.item_count),
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lab(state: State = STATES["worked example"]) -> ItemMeanLab:
    """Return the lab, set to `state`; the last line of a cell shows it."""
    return ItemMeanLab(state)


class ItemMeanLab(Panel):
    """Sliders for the counts and means of up to four ranks."""

    def __init__(self, state: State) -> None:
        self._ranks = widgets.IntSlider(min=1, max=MAX_RANKS, description="ranks P")
        self._counts = [widgets.IntSlider(min=0, max=MAX_COUNT, description=f"items n_{r}") for r in range(MAX_RANKS)]
        self._means = [widgets.FloatSlider(min=-MEAN_LIMIT, max=MEAN_LIMIT, step=0.5, description=f"mean ḡ_{r}")
                       for r in range(MAX_RANKS)]
        super().__init__(STATES, state, [[self._ranks], *zip(self._counts, self._means, strict=True)])

    def read(self) -> State:
        ranks = range(self._ranks.value)
        return State(tuple(self._counts[r].value for r in ranks), tuple(self._means[r].value for r in ranks))

    def write(self, state: State) -> None:
        self._ranks.value = state.world_size
        for r in range(state.world_size):
            self._counts[r].value, self._means[r].value = state.counts[r], state.means[r]

    def draw(self, state: State) -> Picture:
        for r, row in enumerate(self._rows[1:]):
            row.layout.display = "" if r < state.world_size else "none"
        return picture(state)


def picture(state: State) -> Picture:
    """Draw what one item weighs in the mean of rank means, and both means on the line of gradients."""
    if state.item_count == 0:
        raise NoPicture(NO_ITEM)
    sheet = Sheet(634, 226)
    sheet.headline(state.finding)
    _draw_weights(sheet, state)
    _draw_line(sheet, state)
    share = figures.fraction(1 / state.item_count)
    weights = ", ".join(
        f"on rank {r} {figures.weight_note(w, 1 / state.item_count)}" if n else f"rank {r} has none"
        for r, (n, w) in enumerate(zip(state.counts, state.rank_mean_weights, strict=True))
    )
    scales = ", ".join(_number(scale) for scale in state.scales)
    words = (
        f"{state.finding}. In the mean of rank means one item weighs: {weights}; "
        f"it should weigh 1/N = {share}. Factors P·n_r/N that repair it, by rank: {scales}."
    )
    return Picture(sheet, words)


def _draw_weights(sheet: Sheet, state: State) -> None:
    share, weights = 1 / state.item_count, state.rank_mean_weights
    largest, right = max(share, *weights), state.world_size - 0.5
    frame = Frame(sheet, (48, 48, 285, 124), (-0.5, right + 0.26 * state.world_size), (0, 1.1 * largest))
    frame.title("weight of one item in the mean of rank means")
    for r, weight in enumerate(weights):
        if weight:
            frame.bar(r - 0.3, r + 0.3, 0, weight, figures.weight_colour(weight, share), of=f"weight on rank {r}")
    frame.line([(-0.5, share), (right, share)], thick=1.3, dashes=DASHED, of="share")
    sheet.text(frame.x(right) + 4, frame.y(share), f"1/N = {figures.fraction(share)}", 9, anchor="start")
    frame.left_axis({0: "0", largest: figures.fraction(largest)}, "effective weight (1)")
    frame.bottom_axis({r: f"rank {r}\nn = {n}\n" + (f"{w / share:.3g}/N" if n else "no item")
                       for r, (n, w) in enumerate(zip(state.counts, weights, strict=True))}, tick=0, size=9)


def _draw_line(sheet: Sheet, state: State) -> None:
    reach = MEAN_LIMIT + 0.8
    frame = Frame(sheet, (368, 48, 253, 124), (-reach, reach), (-1.1, 1))
    frame.title("area of a circle: items of the rank")
    frame.line([(-reach, 0.35), (reach, 0.35)], FAINT, 1)
    for count, mean in zip(state.counts, state.means, strict=True):
        if count:
            size = 2 * (10 * count) ** 0.5 * 1.13
            sheet.marker(frame.x(mean), frame.y(0.35), "circle", size, GREY, edge=INK, of="mean of a rank")
    places = {r: mean for r, (n, mean) in enumerate(zip(state.counts, state.means, strict=True)) if n}
    for ranks in _neighbours(places):
        name = ("ranks " if len(ranks) > 1 else "rank ") + ", ".join(map(str, ranks))
        sheet.text(frame.x(sum(places[r] for r in ranks) / len(ranks)), frame.y(0.82), name, 9)
    for height, value, name, colour, shape in (
        (-0.2, state.item_mean, "item mean", BLUE, "up"),
        (-0.7, state.rank_mean, "mean of rank means", VERMILLION, "down"),
    ):
        side = -1 if value > 0 else 1
        x, y = frame.x(value), frame.y(height)
        sheet.marker(x, y, shape, 10, colour, of=name)
        sheet.text(x + 9 * side, y, f"{name} {_number(value)}", anchor="end" if side < 0 else "start")
    frame.bottom_axis({value: _number(value) for value in (-6, -4, -2, 0, 2, 4, 6)}, "gradient (units of w)")


def _neighbours(places: Mapping[int, float], distance: float = 2.0) -> list[list[int]]:
    """Group ranks whose places lie too near each other for labels of their own."""
    groups: list[list[int]] = []
    for r in sorted(places, key=lambda rank: (places[rank], rank)):
        if groups and places[r] - places[groups[-1][-1]] < distance:
            groups[-1].append(r)
        else:
            groups.append([r])
    return groups


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
