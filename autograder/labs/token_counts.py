"""The lab and the pictures of lesson 4: lengths, objectives, and what one token weighs.

`lab()` is the widget. `STATES` are the settings worth trying, `table(STATES)` is the same without a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType

import ipywidgets as widgets
import torch
from torch import Tensor

from autograder.dials import Setting, predict_weights
from autograder.labs.blocks import multiple
from autograder.labs.figures import BLUE, GREEN, TAUPE, VERMILLION, Picture
from autograder.labs.panel import NoPicture, Panel
from autograder.labs.sheet import DASHED, FAINT, INK, Frame, Sheet, round_ticks
from autograder.window import IGNORE_INDEX, UpdateWindow

OBJECTIVES = ("token", "sequence", "rank")
_LOOKS = {"token": (BLUE, "circle", ""), "sequence": (GREEN, "square", "9 3"), "rank": (VERMILLION, "diamond", "3 2")}
_DIALS = {
    "token": Setting("window", "sum", "sum"),
    "sequence": Setting("sequences-window", "sum", "sum"),
    "rank": Setting("rank", "sum", "active"),
}
RANKS, PER_RANK, LONGEST = 2, 3, 300
NO_TOKEN = "No valid token at all: N = 0, and a mean over nothing is an error."


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
    bars = [sum(left <= length < right for length in ordered) for left, right in zip(edges, edges[1:], strict=False)]
    sheet = Sheet(619, 209)
    sheet.headline(f"Lengths differ {high // low}-fold, and the longest {longest_half:.0%} hold half of all tokens")
    frame = Frame(sheet, (56, 34, 548, 128), (edges[0], edges[-1]), (0, 1.06 * max(bars)), (math.log, float))
    for left, right, count in zip(edges, edges[1:], bars, strict=False):
        frame.bar(left * 1.014, right / 1.014, 0, count, BLUE, of="documents")
    frame.line([(middle, 0), (middle, frame.y.high)], dashes=DASHED, of="median")
    sheet.text(frame.x(middle) + 4, frame.top + 6, f"median {middle}", 9.5, anchor="start")
    frame.left_axis(round_ticks(0, frame.y.high), "documents")
    frame.bottom_axis({t: str(t) for t in (3, 10, 30, 100, 300, 1000) if edges[0] <= t <= edges[-1]},
                      "targets in a document (tokens, log scale)")
    return Picture(sheet, words)


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
    sheet = Sheet(691, 78 + 26 * rows)
    sheet.headline(f"{labels.numel()} places, {kept} labels that are not ignored, {targets} targets")
    frame = Frame(sheet, (52, 28, 552, 26 * rows), (0, columns), (rows, 0))
    for b in range(rows):
        for t in range(columns):
            look = {"fill": "none", "edge": FAINT, "thick": 0.6} if ignored[b, t] else {"fill": BLUE if t else TAUPE}
            frame.bar(t + 0.06, t + 0.94, b + 0.9, b + 0.1, **look, of="place")
        sheet.text(frame.left - 6, frame.y(b + 0.5), f"row {b}", anchor="end")
        sheet.text(frame.right + 6, frame.y(b + 0.5), f"{int((~ignored[b, 1:]).sum())} targets", 9.5, anchor="start")
    for t in range(0, columns, 10):
        sheet.text(frame.x(t + 0.5), frame.bottom + 2, str(t), stands="top")
    about = "position t in `labels`   (brown: first label, never a target; blue: target; outline: ignored)"
    sheet.text(frame.x(columns / 2), frame.bottom + 20, about, stands="top")
    return Picture(sheet, words)


def loss_curves(curves: Mapping[str, Sequence[tuple[int, float, float]]]) -> Picture:
    """Draw held-out losses while training: objective -> (update, token mean, sequence mean)."""
    ends = {name: curve[-1] for name, curve in curves.items()}
    best = [min(ends, key=lambda name, c=column: ends[name][c]) for column in (1, 2)]
    title = (f"In this run, training on the {best[0]} mean ends lowest in the token mean, "
             f"on the {best[1]} mean in the sequence mean" if best[0] != best[1]
             else f"In this run, training on the {best[0]} mean ends lowest in both readings")
    words = title + ". Loss in nats after the last update, token mean and sequence mean: " + "; ".join(
        f"trained on the {name} mean {end[1]:.3f} and {end[2]:.3f}" for name, end in ends.items()) + "."
    sheet = Sheet(691, 252)
    sheet.headline(title)
    for column, name in ((1, "token mean"), (2, "sequence mean")):
        late = {o: [(p[0], p[column]) for p in curve if p[0] >= curve[-1][0] / 4] for o, curve in curves.items()}
        began, last = min(points[0][0] for points in late.values()), max(points[-1][0] for points in late.values())
        span = [y for points in late.values() for _, y in points]
        low, high = min(span), max(span)
        room = max(high - low, 1e-9)
        frame = Frame(sheet, (58 + 340 * (column - 1), 50, 280, 152), (began - 4, last * 1.36),
                      (low - 0.06 * room, high + 0.06 * room))
        frame.title(f"held-out {name}")
        for objective, points in late.items():
            colour, shape, dashes = _LOOKS[objective]
            frame.line(points, colour, 1.5, dashes, of=objective)
            for x, y in points:
                sheet.marker(frame.x(x), frame.y(y), shape, 5, colour)
        heights = _apart([late[o][-1][1] for o in late], 0.085 * room)
        for objective, height in zip(late, heights, strict=True):
            sheet.text(frame.x(last) + 9, frame.y(height), f"{objective} {late[objective][-1][1]:.3f}", 9.5,
                       anchor="start")
        frame.left_axis(round_ticks(frame.y.low, frame.y.high), "loss (nats per token)" if column == 1 else "")
        frame.bottom_axis(round_ticks(began, last, 4), "updates")
    return Picture(sheet, words)


def loss_by_length(groups: Sequence[str], losses: Mapping[str, Sequence[float]]) -> Picture:
    """Draw the held-out loss per token of documents of several lengths: objective -> one loss per group."""
    shortest = max(losses, key=lambda o: losses[o][0]), min(losses, key=lambda o: losses[o][0])
    longest = min(losses, key=lambda o: losses[o][-1])
    title = (f"Short documents are learnt best on the {shortest[1]} mean, long ones on the {longest} mean")
    words = title + ". " + "; ".join(
        f"{o} mean: " + ", ".join(f"{g} {value:.2f}" for g, value in zip(groups, values, strict=True))
        for o, values in losses.items()) + " nats per token."
    low, high = min(map(min, losses.values())), max(map(max, losses.values()))
    room = max(high - low, 1e-9)
    sheet = Sheet(619, 230)
    sheet.headline(title)
    frame = Frame(sheet, (58, 34, 430, 150), (-0.2, len(groups) - 0.9), (low - 0.06 * room, high + 0.06 * room))
    for objective, values in losses.items():
        colour, shape, dashes = _LOOKS[objective]
        frame.line(enumerate(values), colour, 1.8, dashes, of=objective)
        for place, value in enumerate(values):
            sheet.marker(frame.x(place), frame.y(value), shape, 8, colour)
    heights = _apart([values[-1] for values in losses.values()], 0.09 * room)
    for objective, height in zip(losses, heights, strict=True):
        sheet.text(frame.x(len(groups) - 1) + 10, frame.y(height), f"trained on the {objective} mean", 9.5,
                   anchor="start")
    frame.left_axis(round_ticks(frame.y.low, frame.y.high), "loss (nats per token)")
    frame.bottom_axis(dict(enumerate(groups)), "targets in a held-out document")
    return Picture(sheet, words)


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


class TokenCountsLab(Panel):
    """A slider for the length of each of six sequences, and what a token weighs under three objectives."""

    def __init__(self, state: State) -> None:
        wide = {"description_width": "11em"}
        self._sliders = [[widgets.IntSlider(min=0, max=LONGEST, description=f"rank {r}, sequence {s}", style=wide,
                                            layout={"width": "28em"}) for s in range(PER_RANK)] for r in range(RANKS)]
        super().__init__(STATES, state, [[], list(map(widgets.VBox, self._sliders))], style=wide,
                         layout={"width": "34em"})

    def read(self) -> State:
        return State(tuple(tuple(slider.value for slider in sliders) for sliders in self._sliders))

    def write(self, state: State) -> None:
        for sliders, lengths in zip(self._sliders, state.lengths, strict=True):
            for slider, length in zip(sliders, lengths, strict=True):
                slider.value = length

    def draw(self, state: State) -> Picture:
        return picture(state)


def picture(state: State) -> Picture:
    """Draw what one token weighs under each objective, and what a whole sequence does."""
    if state.token_count == 0:
        raise NoPicture(NO_TOKEN)
    sheet = Sheet(691, 256)
    sheet.headline(state.finding)
    _draw_weights(sheet, state)
    _draw_votes(sheet, state)
    parts = []
    for objective in OBJECTIVES:
        values = _by_rank([multiple(w * state.token_count) if n else "–" for w, n in zip(ws, ns, strict=True)]
                          for ws, ns in zip(state.weights(objective), state.lengths, strict=True))
        parts.append(f"{objective} mean {values}")
    words = (f"{state.finding}. N = {state.token_count}; weight of one token of each sequence, as a multiple of "
             f"1/N, rank 0 / rank 1: {'; '.join(parts)}.")
    return Picture(sheet, words)


def _draw_weights(sheet: Sheet, state: State) -> None:
    lengths = [n for rank in state.lengths for n in rank]
    places = [r * (PER_RANK + 0.4) + s for r in range(RANKS) for s in range(PER_RANK)]
    heights = {o: [w * state.token_count for rank in state.weights(o) for w in rank] for o in OBJECTIVES}
    reach = max(abs(math.log2(y)) for ys in heights.values() for y, n in zip(ys, lengths, strict=True) if n)
    limit = math.ceil(max(reach, 1.0) + 0.3)
    frame = Frame(sheet, (50, 50, 276, 140), (-0.6, RANKS * PER_RANK + 0.2), (2.0**-limit, 2.0**limit),
                  (float, math.log))
    frame.title("weight of ONE token, as a multiple of 1/N")
    frame.line([(frame.x.low, 1), (frame.x.high, 1)], dashes=DASHED)
    for shift, objective in zip((-0.2, 0.0, 0.2), OBJECTIVES, strict=True):
        colour, shape, _ = _LOOKS[objective]
        for place, height, n in zip(places, heights[objective], lengths, strict=True):
            if n:
                frame.line([(place + shift, 1), (place + shift, height)], colour, 1.6)
                sheet.marker(frame.x(place + shift), frame.y(height), shape, 8, colour, of=objective)
    ticks = range(-limit, limit + 1, max(1, round(limit / 3)))
    frame.left_axis({2.0**k: f"×{2**k}" if k > 0 else f"÷{2**-k}" if k else "1/N" for k in ticks})
    frame.bottom_axis(dict(zip(places, map(str, lengths), strict=True)), tick=0, size=9)
    for r in range(RANKS):
        sheet.text(frame.x(places[r * PER_RANK + 1]), frame.bottom + 14, f"rank {r}", 9, stands="top")
    sheet.legend(42, 243, {f"{objective} mean": partial(sheet.marker, shape=shape, size=8, fill=colour)
                           for objective, (colour, shape, _) in _LOOKS.items()})


def _draw_votes(sheet: Sheet, state: State) -> None:
    frame = Frame(sheet, (397, 50, 283, 140), (0, 100), (2.6, -0.6))
    frame.title("vote of a whole sequence, weight × tokens (%)")
    for row, objective in enumerate(OBJECTIVES):
        colour, left = _LOOKS[objective][0], 0.0
        for r, (lengths, weights) in enumerate(zip(state.lengths, state.weights(objective), strict=True)):
            for length, weight in zip(lengths, weights, strict=True):
                vote = 100 * weight * length
                if vote:
                    frame.bar(left + 0.25, left + max(vote - 0.25, 0.35), row + 0.34, row - 0.34, colour, edge=colour,
                              paleness=0.7 * r, of=f"vote under the {objective} mean")
                if vote >= 6:
                    sheet.text(frame.x(left + vote / 2), frame.y(row), f"{vote:.0f}", 8.5,
                               colour=INK if r else "white")
                left += vote
    frame.left_axis({row: f"{objective}\nmean" for row, objective in enumerate(OBJECTIVES)}, tick=0)
    frame.bottom_axis({share: str(share) for share in range(0, 101, 20)}, "share of the update (%); pale: rank 1")
