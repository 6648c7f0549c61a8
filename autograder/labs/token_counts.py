"""The lab and the pictures of lesson 4: lengths, objectives, and what one token weighs.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import ipywidgets as widgets
import torch
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from torch import Tensor

from autograder.dials import Setting, predict_weights
from autograder.labs import figures
from autograder.labs.blocks import multiple
from autograder.labs.figures import BLUE, FAINT, GREEN, INK, TAUPE, VERMILLION, Picture
from autograder.window import IGNORE_INDEX, UpdateWindow

OBJECTIVES = ("token", "sequence", "rank")
_LOOKS = {"token": (BLUE, "o", "-"), "sequence": (GREEN, "s", (0, (6, 2))), "rank": (VERMILLION, "D", (0, (2, 1.5)))}
_DIALS = {
    "token": Setting("window", "sum", "sum"),
    "sequence": Setting("sequences-window", "sum", "sum"),
    "rank": Setting("rank", "sum", "active"),
}
RANKS, PER_RANK, LONGEST = 2, 3, 300


@dataclass(frozen=True)
class State:
    """lengths[r][s]: valid tokens of sequence s on rank r; 0: all of it is ignored."""

    lengths: tuple[tuple[int, ...], ...]

    @property
    def token_count(self) -> int:
        """N."""
        return sum(map(sum, self.lengths))

    def weights(self, objective: str) -> tuple[tuple[float, ...], ...]:
        """What one token of each sequence weighs under "token", "sequence" or "rank"; 0 where there is none.

        1/N, 1/(S·len) over the S sequences with tokens, 1/(P'·n_r) over the P' ranks with tokens.
        """
        return self._weights[objective]

    @cached_property
    def _weights(self) -> dict[str, tuple[tuple[float, ...], ...]]:
        window = UpdateWindow.from_lengths(self.lengths)
        starts = torch.tensor([0, *(n for rank in self.lengths for n in rank)]).cumsum(0).tolist()
        found = {}
        for objective, dials in _DIALS.items():
            of_token = predict_weights(dials, window).tolist()
            first = iter([of_token[at] if at < end else 0.0 for at, end in zip(starts, starts[1:], strict=False)])
            found[objective] = tuple(tuple(next(first) for _ in rank) for rank in self.lengths)
        return found

    @property
    def finding(self) -> str:
        """What this state shows, in one line."""
        by_token = {o: [w for rank, ns in zip(self.weights(o), self.lengths, strict=True)
                        for w, n in zip(rank, ns, strict=True) if n] for o in OBJECTIVES}
        spread = {o: max(ws) / min(ws) for o, ws in by_token.items()}
        if spread["sequence"] < 1 + 1e-9:
            equal = "Equal lengths: token mean and sequence mean are the same"
            return equal + (", and here the rank mean, too" if spread["rank"] < 1 + 1e-9 else "; the rank mean is not")
        rank = "not at all" if spread["rank"] < 1 + 1e-9 else f"{spread['rank']:.3g}-fold"
        return (f"Between tokens, weights differ {spread['sequence']:.3g}-fold in the sequence mean, "
                f"{rank} in the rank mean")


STATES: Mapping[str, State] = MappingProxyType(
    {
        "long on one rank, short on the other": State(((300, 200, 100), (30, 10, 3))),
        "the same, dealt another way": State(((300, 10, 3), (200, 100, 30))),
        "equal ranks, unequal lengths": State(((200, 60, 40), (150, 147, 3))),
        "equal lengths": State(((50, 50, 50), (50, 50, 50))),
        "equal lengths, unequal ranks": State(((50, 50, 50), (50, 0, 0))),
        "one sequence is nothing but padding": State(((120, 60, 0), (20, 10, 5))),
        "one rank has no token": State(((120, 60, 20), (0, 0, 0))),
    }
)


def table(states: Mapping[str, State] = STATES) -> str:
    """Return the states as a Markdown table, the reading of the lab without a kernel."""
    titles = ["state", "tokens of each sequence, rank 0 / rank 1", "N", "sequence mean: weight of one token · N",
              "rank mean: weight of one token · N"]
    rows = [titles, ["---"] * len(titles)]
    for name, state in states.items():
        shown = [[_by_rank([multiple(w * state.token_count) if n else "–" for w, n in zip(ws, ns, strict=True)]
                           for ws, ns in zip(state.weights(objective), state.lengths, strict=True))]
                 for objective in ("sequence", "rank")]
        rows.append([name, _by_rank(state.lengths), str(state.token_count), *[cell for [cell] in shown]])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _by_rank(values) -> str:
    return " / ".join(", ".join(map(str, rank)) for rank in values)


# ---- pictures of the lesson


def length_histogram(lengths: Sequence[int]) -> Picture:
    """Draw how many documents have how many targets (log axis)."""
    ordered = sorted(lengths)
    low, high, middle = ordered[0], ordered[-1], ordered[len(ordered) // 2]
    edges = [2 ** (k / 2) for k in range(2, 2 * math.ceil(math.log2(high)) + 1)]
    longest_half = _tokens_share(ordered)
    words = (f"{len(ordered)} docstrings have between {low} and {high} targets, half of them fewer than {middle}. The "
             f"longest {longest_half:.0%} of them hold half of all tokens.")
    with figures.style():
        figure = figures.new_figure(8.6, 2.9)
        axes = figure.add_subplot()
        axes.hist(ordered, bins=edges, color=BLUE, edgecolor="none", rwidth=0.92)
        axes.set_xscale("log", base=2)
        ticks = [t for t in (3, 10, 30, 100, 300, 1000) if edges[0] <= t <= edges[-1]]
        axes.set_xticks(ticks, map(str, ticks))
        axes.minorticks_off()
        axes.axvline(middle, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.annotate(f"median {middle}", (middle, axes.get_ylim()[1] * 0.96), (4, 0),
                      textcoords="offset points", fontsize=9.5, va="top")
        axes.set_xlabel("targets in a document (tokens, log scale)")
        axes.set_ylabel("documents")
        figures.headline(
            figure, f"Lengths differ {high // low}-fold, and the longest {longest_half:.0%} hold half of all tokens")
        figure.tight_layout(rect=(0, 0, 1, 1.02))
    return Picture(figure, words)


def _tokens_share(ordered: Sequence[int]) -> float:
    """The share of documents, from the longest, that hold half of the tokens."""
    half, taken = sum(ordered) / 2, 0
    for number, length in enumerate(reversed(ordered), start=1):
        taken += length
        if taken >= half:
            return number / len(ordered)
    return 1.0


def batch_picture(labels: Tensor) -> Picture:
    """Draw labels [B, T]: what is a target, what only stands in front of one, what is ignored."""
    rows, columns = labels.shape
    ignored = labels == IGNORE_INDEX
    targets = int((~ignored[:, 1:]).sum())
    kept = int((~ignored).sum())
    words = (f"Labels of {rows} documents, padded to {columns}: {labels.numel()} places, {kept} of them not ignored, "
             f"{targets} targets. The first label of a row is no target: no position comes before it.")
    with figures.style():
        figure = figures.new_figure(9.6, 0.95 + 0.36 * rows)
        axes = figure.add_subplot()
        for b in range(rows):
            for t in range(columns):
                if ignored[b, t]:
                    look = {"facecolor": "none", "edgecolor": FAINT, "linewidth": 0.6}
                else:
                    look = {"facecolor": TAUPE if t == 0 else BLUE, "edgecolor": "none"}
                axes.add_patch(Rectangle((t + 0.06, b + 0.1), 0.88, 0.8, **look))
            axes.text(columns + 0.5, b + 0.5, f"{int((~ignored[b, 1:]).sum())} targets", va="center", fontsize=9.5)
        axes.set_xlim(-0.3, columns + 0.16 * columns)
        axes.set_ylim(rows + 0.1, -0.1)
        axes.set_yticks([b + 0.5 for b in range(rows)], [f"row {b}" for b in range(rows)])
        axes.tick_params(length=0)
        axes.set_xticks([0.5, *[t + 0.5 for t in range(10, columns, 10)]], [0, *range(10, columns, 10)])
        axes.set_xlabel("position t in `labels`   (brown: first label, never a target; blue: target; outline: ignored)")
        for side in axes.spines.values():
            side.set_visible(False)
        figures.headline(figure, f"{labels.numel()} places, {kept} labels that are not ignored, {targets} targets")
        figure.tight_layout(rect=(0, 0, 1, 1.06))
    return Picture(figure, words)


def loss_curves(curves: Mapping[str, Sequence[tuple[int, float, float]]]) -> Picture:
    """Draw held-out losses while training: objective -> (update, token mean, sequence mean)."""
    ends = {name: curve[-1] for name, curve in curves.items()}
    best = [min(ends, key=lambda name, c=column: ends[name][c]) for column in (1, 2)]
    title = (f"In this run, training on the {best[0]} mean ends lowest in the token mean, "
             f"on the {best[1]} mean in the sequence mean" if best[0] != best[1]
             else f"In this run, training on the {best[0]} mean ends lowest in both readings")
    words = title + ". Loss in nats after the last update, token mean and sequence mean: " + "; ".join(
        f"trained on the {name} mean {end[1]:.3f} and {end[2]:.3f}" for name, end in ends.items()) + "."
    with figures.style():
        figure = figures.new_figure(9.6, 3.5)
        for column, name in ((1, "token mean"), (2, "sequence mean")):
            axes = figure.add_subplot(1, 2, column)
            late = {o: [(p[0], p[column]) for p in curve if p[0] >= curve[-1][0] / 4] for o, curve in curves.items()}
            for objective, points in late.items():
                colour, marker, dashes = _LOOKS[objective]
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=5, linestyle=dashes)
            last = max(points[-1][0] for points in late.values())
            span = [y for points in late.values() for _, y in points]
            heights = _apart([late[o][-1][1] for o in late], 0.065 * (max(span) - min(span)))
            for objective, height in zip(late, heights, strict=True):
                axes.annotate(f"{objective} {late[objective][-1][1]:.3f}", (last, height), (9, 0),
                              textcoords="offset points", va="center", fontsize=9.5)
            axes.set_xlim(min(p[0] for points in late.values() for p in points) - 4, last * 1.3)
            axes.set_title(f"held-out {name}")
            axes.set_xlabel("updates")
            axes.set_ylabel("loss (nats per token)" if column == 1 else "")
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.02))
    return Picture(figure, words)


def loss_by_length(groups: Sequence[str], losses: Mapping[str, Sequence[float]]) -> Picture:
    """Draw the held-out loss per token of documents of several lengths: objective -> one loss per group."""
    shortest = max(losses, key=lambda o: losses[o][0]), min(losses, key=lambda o: losses[o][0])
    longest = min(losses, key=lambda o: losses[o][-1])
    title = (f"Short documents are learnt best on the {shortest[1]} mean, long ones on the {longest} mean")
    words = title + ". " + "; ".join(
        f"{o} mean: " + ", ".join(f"{g} {value:.2f}" for g, value in zip(groups, values, strict=True))
        for o, values in losses.items()) + " nats per token."
    with figures.style():
        figure = figures.new_figure(8.6, 3.2)
        axes = figure.add_subplot()
        places = range(len(groups))
        for objective, values in losses.items():
            colour, marker, dashes = _LOOKS[objective]
            axes.plot(places, values, color=colour, marker=marker, ms=8, linestyle=dashes, linewidth=1.8)
        span = max(map(max, losses.values())) - min(map(min, losses.values()))
        heights = _apart([values[-1] for values in losses.values()], 0.08 * span)
        for objective, height in zip(losses, heights, strict=True):
            axes.annotate(f"trained on the {objective} mean", (len(groups) - 1, height), (10, 0),
                          textcoords="offset points", va="center", fontsize=9.5)
        axes.set_xlim(-0.2, len(groups) - 0.1)
        axes.set_xticks(places, groups)
        axes.set_xlabel("targets in a held-out document")
        axes.set_ylabel("loss (nats per token)")
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.02))
    return Picture(figure, words)


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """The heights, moved so that labels at them do not overlap."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = {}
    for before, i in zip([None, *order], order, strict=False):
        placed[i] = heights[i] if before is None else max(heights[i], placed[before] + least)
    return [placed[i] for i in range(len(heights))]


# ---- the lab


def lab(state: State = STATES["long on one rank, short on the other"]) -> TokenCountsLab:
    """Return the lab, set to `state`; the last line of a cell shows it."""
    return TokenCountsLab(state)


class TokenCountsLab(widgets.VBox):
    """A slider for the length of each of six sequences, and what a token weighs under three objectives."""

    def __init__(self, state: State) -> None:
        self._drawing = _Drawing()
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *STATES], description="start from",
                                         style={"description_width": "11em"}, layout={"width": "34em"})
        self._sliders = [[widgets.IntSlider(min=0, max=LONGEST, description=f"rank {r}, sequence {s}",
                                            style={"description_width": "11em"}, layout={"width": "28em"})
                          for s in range(PER_RANK)] for r in range(RANKS)]
        columns = widgets.HBox([widgets.VBox(sliders) for sliders in self._sliders])
        self._view = widgets.HTML()
        super().__init__([self._presets, columns, self._view])
        self.state = state
        self._presets.observe(self._take_preset, "value")
        for sliders in self._sliders:
            for slider in sliders:
                slider.observe(self._slider_moved, "value")

    @property
    def state(self) -> State:
        """What the sliders say."""
        return State(tuple(tuple(slider.value for slider in sliders) for sliders in self._sliders))

    @state.setter
    def state(self, state: State) -> None:
        self._setting = True
        try:
            for sliders, lengths in zip(self._sliders, state.lengths, strict=True):
                for slider, length in zip(sliders, lengths, strict=True):
                    slider.value = length
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
        if self.state.token_count == 0:
            self._view.value = "<p><b>No valid token at all: N = 0, and a mean over nothing is an error.</b></p>"
            return
        self._view.value = self._drawing.picture(self.state)._repr_html_()


class _Drawing:
    """One figure whose artists follow a state."""

    def __init__(self) -> None:
        with figures.style():
            self._figure = figures.new_figure(9.6, 3.6)
            self._weights = self._figure.add_axes((0.07, 0.25, 0.4, 0.56))
            self._votes = self._figure.add_axes((0.575, 0.25, 0.41, 0.56))
            self._prepare_weights()
            self._prepare_votes()

    def picture(self, state: State) -> Picture:
        """Move the artists to `state`; return the figure with the same content in words."""
        weights = {objective: state.weights(objective) for objective in OBJECTIVES}
        with figures.style():
            figures.headline(self._figure, state.finding)
            self._show_weights(state, weights)
            self._show_votes(state, weights)
        parts = []
        for objective in OBJECTIVES:
            values = _by_rank([multiple(w * state.token_count) if n else "–" for w, n in zip(ws, ns, strict=True)]
                              for ws, ns in zip(weights[objective], state.lengths, strict=True))
            parts.append(f"{objective} mean {values}")
        words = (f"{state.finding}. N = {state.token_count}; weight of one token of each sequence, as a multiple of "
                 f"1/N, rank 0 / rank 1: {'; '.join(parts)}.")
        return Picture(self._figure, words)

    def _prepare_weights(self) -> None:
        axes = self._weights
        axes.set_title("weight of ONE token, as a multiple of 1/N")
        axes.set_yscale("log", base=2)
        axes.minorticks_off()
        axes.axhline(1, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        number = RANKS * PER_RANK
        self._dots, self._stems = {}, {}
        for objective in OBJECTIVES:
            colour, marker, _ = _LOOKS[objective]
            self._stems[objective] = axes.vlines([0], [1], [1], color=colour, linewidth=1.6)
            (self._dots[objective],) = axes.plot([1] * number, [1] * number, linestyle="", marker=marker, color=colour,
                                                 ms=8, label=f"{objective} mean")
        axes.set_xlim(-0.6, number + 0.2)
        axes.tick_params(axis="x", length=0, labelsize=9)
        self._figure.legend(handles=list(self._dots.values()), loc="lower left", bbox_to_anchor=(0.05, -0.02), ncols=3,
                            fontsize=9.5, handletextpad=0.2)

    def _show_weights(self, state: State, weights: dict) -> None:
        axes = self._weights
        lengths = [n for rank in state.lengths for n in rank]
        places = [r * (PER_RANK + 0.4) + s for r in range(RANKS) for s in range(PER_RANK)]
        reach = 1.0
        for shift, objective in zip((-0.2, 0.0, 0.2), OBJECTIVES, strict=True):
            heights = [w * state.token_count for rank in weights[objective] for w in rank]
            shown = [(x + shift, y) for x, y, n in zip(places, heights, lengths, strict=True) if n]
            self._dots[objective].set_data(*zip(*shown, strict=True))
            self._stems[objective].set_segments([[(x, 1.0), (x, y)] for x, y in shown])
            reach = max(reach, *(abs(math.log2(y)) for _, y in shown))
        limit = math.ceil(reach + 0.3)
        axes.set_ylim(2.0**-limit, 2.0**limit)
        ticks = range(-limit, limit + 1, max(1, round(limit / 3)))
        axes.set_yticks([2.0**k for k in ticks], [f"×{2**k}" if k > 0 else f"÷{2**-k}" if k else "1/N" for k in ticks])
        labels = [f"{n}" for n in lengths]
        for r in range(RANKS):
            labels[r * PER_RANK + 1] += f"\nrank {r}"
        axes.set_xticks(places, labels)

    def _prepare_votes(self) -> None:
        axes = self._votes
        axes.set_title("vote of a whole sequence, weight × tokens (%)")
        axes.set_xlim(0, 100)
        axes.set_ylim(2.6, -0.6)
        axes.set_yticks(range(3), [f"{objective}\nmean" for objective in OBJECTIVES])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("share of the update (%); pale: rank 1")
        self._bars, self._names = {}, {}
        for row, objective in enumerate(OBJECTIVES):
            colour = _LOOKS[objective][0]
            for r in range(RANKS):
                for s in range(PER_RANK):
                    bar = Rectangle((0, row - 0.34), 1, 0.68, facecolor=to_rgba(colour, 0.3 if r else 1.0),
                                    edgecolor=colour, linewidth=1.0)
                    axes.add_patch(bar)
                    self._bars[objective, r, s] = bar
                    self._names[objective, r, s] = axes.text(0, row + 0.02, "", ha="center", va="center", fontsize=8.5)

    def _show_votes(self, state: State, weights: dict) -> None:
        for objective in OBJECTIVES:
            left = 0.0
            for r in range(RANKS):
                for s in range(PER_RANK):
                    length = state.lengths[r][s]
                    share = 100 * weights[objective][r][s] * length
                    bar, name = self._bars[objective, r, s], self._names[objective, r, s]
                    bar.set_x(left + 0.25)
                    bar.set_width(max(share - 0.5, 0.0))
                    name.set_text(f"{share:.0f}" if share >= 6 else "")
                    name.set_position((left + share / 2, name.get_position()[1]))
                    name.set_color("white" if r == 0 else INK)
                    left += share
