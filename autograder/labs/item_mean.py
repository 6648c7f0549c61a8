"""The lab of lesson 1: set every rank's count and mean gradient; see both means and what every item weighs.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import ipywidgets as widgets
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from autograder.dials import Setting, predict_weights
from autograder.labs import figures
from autograder.labs.figures import BLUE, FAINT, GREY, INK, VERMILLION
from autograder.window import UpdateWindow

MEAN_OF_RANK_MEANS = Setting("rank", "sum", "mean")
MAX_RANKS = 4
MAX_COUNT = 12
MEAN_LIMIT = 6.0
NO_ITEM = "<p><b>No rank has an item: N = 0, and a mean over no items is an error.</b></p>"


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


class ItemMeanLab(widgets.VBox):
    """Sliders for the counts and means of up to four ranks, and the picture that follows them."""

    def __init__(self, state: State) -> None:
        self._drawing = _Drawing()
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *STATES], description="start from")
        self._ranks = widgets.IntSlider(min=1, max=MAX_RANKS, description="ranks P")
        self._counts = [_slider(widgets.IntSlider, f"items n_{r}", 0, MAX_COUNT, 1) for r in range(MAX_RANKS)]
        self._means = [
            _slider(widgets.FloatSlider, f"mean ḡ_{r}", -MEAN_LIMIT, MEAN_LIMIT, 0.5)
            for r in range(MAX_RANKS)
        ]
        self._rows = [widgets.HBox(pair) for pair in zip(self._counts, self._means, strict=True)]
        self._view = widgets.HTML()
        super().__init__([widgets.HBox([self._presets, self._ranks]), *self._rows, self._view])
        self.state = state
        self._presets.observe(self._take_preset, "value")
        for slider in (self._ranks, *self._counts, *self._means):
            slider.observe(self._slider_moved, "value")

    @property
    def state(self) -> State:
        """What the sliders say."""
        ranks = range(self._ranks.value)
        return State(tuple(self._counts[r].value for r in ranks), tuple(self._means[r].value for r in ranks))

    @state.setter
    def state(self, state: State) -> None:
        self._setting = True
        try:
            self._ranks.value = state.world_size
            for r in range(state.world_size):
                self._counts[r].value, self._means[r].value = state.counts[r], state.means[r]
            self._presets.value = next((name for name, known in STATES.items() if known == state), "your own")
        finally:
            self._setting = False
        self._show()

    def _take_preset(self, change: dict) -> None:
        if not self._setting and change["new"] in STATES:
            self.state = STATES[change["new"]]

    def _slider_moved(self, _: dict) -> None:
        if not self._setting:
            self.state = self.state

    def _show(self) -> None:
        state = self.state
        for r, row in enumerate(self._rows):
            row.layout.display = "" if r < state.world_size else "none"
        if state.item_count == 0:
            self._view.value = NO_ITEM
            return
        self._drawing.show(state)
        self._view.value = self._drawing.picture(state)._repr_html_()


class _Drawing:
    """One figure whose artists follow a state; nothing is built anew."""

    def __init__(self) -> None:
        with figures.style():
            self._figure = figures.new_figure(8.8, 3.2)
            self._title = self._figure.text(0.01, 0.93, "", fontsize=12, fontweight="bold")
            self._weights = self._figure.add_axes((0.075, 0.24, 0.45, 0.55))
            self._line = self._figure.add_axes((0.58, 0.24, 0.4, 0.55))
            self._prepare_weights()
            self._prepare_line()

    def show(self, state: State) -> None:
        """Move the artists to `state`."""
        with figures.style():
            self._title.set_text(state.finding)
            self._show_weights(state)
            self._show_line(state)

    def picture(self, state: State) -> figures.Picture:
        """Return the figure with the same content in words."""
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
        return figures.Picture(self._figure, words)

    def _prepare_weights(self) -> None:
        axes = self._weights
        axes.set_title("weight of one item in the mean of rank means")
        axes.set_ylabel("effective weight (1)")
        self._bars = axes.bar(range(MAX_RANKS), [0] * MAX_RANKS, width=0.6)
        (self._share,) = axes.plot([], [], color=INK, linewidth=1.3, linestyle=(0, (4, 3)))
        self._share_note = _note(axes, (0, 0), (4, 0), fontsize=9)
        axes.tick_params(axis="x", length=0, labelsize=9)

    def _show_weights(self, state: State) -> None:
        axes, share = self._weights, 1 / state.item_count
        weights = state.rank_mean_weights
        for bar, weight in zip(self._bars, [*weights, *[0.0] * (MAX_RANKS - state.world_size)], strict=True):
            bar.set_height(weight)
            bar.set_visible(weight > 0)
            bar.set_color(figures.weight_colour(weight, share))
        right = state.world_size - 0.5
        self._share.set_data([-0.5, right], [share, share])
        self._share_note.xy = (right, share)
        self._share_note.set_text(f"1/N = {figures.fraction(share)}")
        largest = max(share, *weights)
        axes.set_ylim(0, 1.1 * largest)
        axes.set_yticks([0, largest], ["0", figures.fraction(largest)])
        axes.set_xlim(-0.5, right + 0.26 * state.world_size)
        labels = [
            f"rank {r}\nn = {n}\n" + (f"{w / share:.3g}/N" if n else "no item")
            for r, (n, w) in enumerate(zip(state.counts, weights, strict=True))
        ]
        axes.set_xticks(range(state.world_size), labels)

    def _prepare_line(self) -> None:
        axes = self._line
        axes.set_title("area of a circle: items of the rank")
        axes.set_xlabel("gradient (units of w)")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_ylim(-1.1, 1)
        axes.set_xlim(-MEAN_LIMIT - 0.8, MEAN_LIMIT + 0.8)
        axes.set_xticks([-6, -4, -2, 0, 2, 4, 6])
        axes.axhline(0.35, color=FAINT, linewidth=1)
        self._ranks_at = axes.scatter([0] * MAX_RANKS, [0.35] * MAX_RANKS, facecolors=GREY, edgecolors=INK, zorder=3)
        self._names = [axes.text(0, 0, "", ha="center", fontsize=9) for _ in range(MAX_RANKS)]
        self._marks = []
        for height, colour, marker in ((-0.2, BLUE, "^"), (-0.7, VERMILLION, "v")):
            (mark,) = axes.plot([0], [height], marker=marker, color=colour, ms=10)
            self._marks.append((mark, _note(axes, (0, height), (0, 0))))

    def _show_line(self, state: State) -> None:
        places = [mean if n else 0.0 for n, mean in zip(state.counts, state.means, strict=True)]
        hidden = MAX_RANKS - state.world_size
        self._ranks_at.set_offsets([(x, 0.35) for x in places] + [(0.0, 0.35)] * hidden)
        self._ranks_at.set_sizes([40.0 * n for n in state.counts] + [0.0] * hidden)
        groups = _neighbours({r: x for r, x in enumerate(places) if state.counts[r]})
        for name, ranks in zip(self._names, groups + [[]] * (MAX_RANKS - len(groups)), strict=True):
            name.set_text("")
            if ranks:
                name.set_text(("ranks " if len(ranks) > 1 else "rank ") + ", ".join(map(str, ranks)))
                name.set_position((sum(places[r] for r in ranks) / len(ranks), 0.75))
        for (mark, note), value, text in zip(
            self._marks, (state.item_mean, state.rank_mean), ("item mean", "mean of rank means"), strict=True
        ):
            mark.set_xdata([value])
            note.xy = (value, note.xy[1])
            leftwards = value > 0
            note.set_position((-9 if leftwards else 9, 0))
            note.set_horizontalalignment("right" if leftwards else "left")
            note.set_text(f"{text} {_number(value)}")


def _neighbours(places: Mapping[int, float], distance: float = 2.0) -> list[list[int]]:
    """Group ranks whose places lie too near each other for labels of their own."""
    groups: list[list[int]] = []
    for r in sorted(places, key=lambda rank: (places[rank], rank)):
        if groups and places[r] - places[groups[-1][-1]] < distance:
            groups[-1].append(r)
        else:
            groups.append([r])
    return groups


def _note(axes: Axes, at: tuple[float, float], offset: tuple[float, float], **options) -> Annotation:
    return axes.annotate("", at, offset, textcoords="offset points", va="center", **options)


def _slider(kind: type, name: str, low: float, high: float, step: float):
    return kind(value=0, min=low, max=high, step=step, description=name)


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
