"""The look that all lessons share, and the pictures that more than one of them draws.

A picture is inline SVG. Its text and axes take the colour of the page's own text, so it reads in a light and in a
dark theme; its data colours contrast 3:1 with both and stay apart for colour-blind readers. Every picture carries a
sentence that says what it shows.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from fractions import Fraction

from autograder.labs.sheet import DASHED, FAINT, Frame, Sheet, round_ticks

BLUE = "#1f83c9"  # right: the item mean, the reference
VERMILLION = "#d55e00"  # too much, or a wrong result
TAUPE = "#a67c74"  # too little
GREEN = "#11a68d"  # a further series, with a marker or line style of its own
GREY = "#858585"  # data before anything is said about it
PALETTE = (BLUE, VERMILLION, TAUPE, GREEN)


class Picture:
    """A drawing with a sentence in words; a notebook shows both, a terminal the sentence."""

    def __init__(self, sheet: Sheet, words: str) -> None:
        self.sheet = sheet
        self.words = words

    def svg(self) -> str:
        """Return the drawing as inline SVG in the colours of the page."""
        return self.sheet.markup(self.words)

    def _repr_html_(self) -> str:
        style = "max-width: 48em; line-height: 1.4; padding-left: 7px"  # begins where the headline does
        caption = f'<figcaption style="{style}">{html.escape(self.words)}</figcaption>'
        return f'<figure style="margin: 0">{self.svg()}{caption}</figure>'

    def __repr__(self) -> str:
        return self.words


def fraction(value: float, largest_denominator: int = 1000) -> str:
    """Return a weight as people write it: 1/12 for 0.08333…; four digits where no short fraction fits."""
    near = Fraction(value).limit_denominator(largest_denominator)
    return str(near) if abs(float(near) - value) <= 1e-9 * max(1.0, abs(value)) else f"{value:.4g}"


def weight_colour(weight: float, share: float) -> str:
    """Return the colour of an item that weighs `weight` where it should weigh `share`."""
    if abs(weight - share) <= 1e-9 * abs(share):
        return BLUE
    return VERMILLION if weight > share else TAUPE


def weight_note(weight: float, share: float) -> str:
    """Return a weight and, where it differs from its share 1/N, the same as a multiple of that: 1/4 = 2/N."""
    if weight_colour(weight, share) == BLUE:
        return fraction(weight)
    return f"{fraction(weight)} = {weight / share:.3g}/N"


def weight_bars(panels: Mapping[str, Sequence[Sequence[float]]], title: str, words: str) -> Picture:
    """Draw what every item weighs in an update, beside what it should weigh.

    panels: name of an update -> weights[r][j] of item j on rank r. Every panel holds the same items.
    title: the finding, in one line. words: the same picture in a sentence.
    The dashed line is 1/N, the share of every item in the item mean.
    """
    first = next(iter(panels.values()))
    share = 1.0 / sum(len(rank) for rank in first)
    top = 1.1 * max(share, *(weight for ranks in panels.values() for rank in ranks for weight in rank))
    wide = max(547.0, 288.0 * len(panels)) / len(panels)
    sheet = Sheet(wide * len(panels), 262)
    sheet.headline(title)
    for column, (name, ranks) in enumerate(panels.items()):
        length = sum(max(len(rank), 1) + _BETWEEN_RANKS for rank in ranks)
        frame = Frame(sheet, (wide * column + 52, 48, wide - 60, 146), (-1.3, 1.2 * length), (0, top))
        frame.title(name)
        _draw_weights(frame, ranks, share)
        frame.left_axis(round_ticks(0, top, 4), "effective weight wᵢ (1)" if column == 0 else "")
    return Picture(sheet, words)


_BETWEEN_RANKS = 1.8  # in widths of an item


def _draw_weights(frame: Frame, ranks: Sequence[Sequence[float]], share: float) -> None:
    position, labels = 0.0, {}
    for rank, weights in enumerate(ranks):
        for j, weight in enumerate(weights):
            frame.bar(position + j - 0.39, position + j + 0.39, 0, weight, weight_colour(weight, share), of="item")
        if weights:
            items = f"{len(weights)} item{'s' if len(weights) != 1 else ''}"
            note = weight_note(weights[0], share).replace(" = ", "\n= ")  # neighbours with few items need the room
            labels[position + (len(weights) - 1) / 2] = f"rank {rank}\n{items}\n{note}"
        position += max(len(weights), 1) + _BETWEEN_RANKS
    frame.line([(-1.0, share), (position - 1.8, share)], thick=1.3, dashes=DASHED, of="share")
    frame.sheet.text(frame.x(position - 1.6), frame.y(share), f"1/N = {fraction(share)}", 9.5, anchor="start")
    frame.bottom_axis(labels, tick=0)


def gradient_line(
    counts: Sequence[int], means: Sequence[float], item_mean: float, rank_mean: float, title: str, words: str
) -> Picture:
    """Draw every item as a dot over the value of its gradient, with the two means below the line.

    counts[r] items with gradient means[r] each, at most a few dozen in all.
    """
    low, high = min(means) - 1, max(means) + 1
    sheet = Sheet(547, 216)
    sheet.headline(title)
    frame = Frame(sheet, (16, 30, 515, 142), (low, high), (-1.8, max(counts) + 1.5))
    frame.line([(low, 0), (high, 0)], FAINT, 1)
    for rank, (count, mean) in enumerate(zip(counts, means, strict=True)):
        for j in range(count):
            sheet.marker(frame.x(mean), frame.y(0.6 + j), "circle", 9, GREY, of=f"item of rank {rank}")
        sheet.text(frame.x(mean), frame.y(count + 0.4), f"rank {rank}: {count} items", 9.5, stands="bottom")
    for value, name, colour, shape in (
        (item_mean, "item mean", BLUE, "up"), (rank_mean, "mean of rank means", VERMILLION, "down"),
    ):
        side = -1 if value < max(item_mean, rank_mean) else 1
        x, y = frame.x(value), frame.y(-0.7)
        sheet.marker(x, y, shape, 10, colour, of=name)
        sheet.text(x + 9 * side, y, f"{name} {value:g}", anchor="end" if side < 0 else "start")
    frame.bottom_axis(round_ticks(low, high, 8), "gradient of one item, w − y (units of w)")
    return Picture(sheet, words)
