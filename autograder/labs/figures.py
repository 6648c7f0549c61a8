"""The look that all lessons share, and the pictures that more than one of them draws.

A picture is a matplotlib figure that a notebook shows as inline SVG. Its text and axes take the colour of the
page's own text, so it reads in a light and in a dark theme; its data colours contrast 3:1 with both and stay
apart for colour-blind readers. Every picture carries a sentence that says what it shows.
"""

from __future__ import annotations

import html
import io
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

BLUE = "#1f83c9"  # right: the item mean, the reference
VERMILLION = "#d55e00"  # too much, or a wrong result
TAUPE = "#a67c74"  # too little
GREEN = "#11a68d"  # a further series, with a marker or line style of its own
GREY = "#858585"  # data before anything is said about it
PALETTE = (BLUE, VERMILLION, TAUPE, GREEN)

# Placeholders in a figure that become the colours of the page around it.
INK = "#010203"
FAINT = "#040506"
_PAGE_COLOURS = {
    INK: "var(--jp-content-font-color1, #777)",
    FAINT: "var(--jp-border-color1, #999)",
}

_STYLE = {
    "svg.fonttype": "none",  # text stays text: sharp, searchable, read aloud
    "svg.hashsalt": "course",  # the same figure gives the same markup
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.titlecolor": INK,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "hatch.linewidth": 1.2,
    "figure.dpi": 72.0,
}


class Picture:
    """A figure with a sentence in words; a notebook shows both, a terminal the sentence."""

    def __init__(self, figure: Figure, words: str) -> None:
        self.figure = figure
        self.words = words

    def svg(self) -> str:
        """Return the figure as inline SVG in the colours of the page."""
        return to_svg(self.figure, self.words)

    def _repr_html_(self) -> str:
        caption = f'<figcaption style="max-width: 48em; line-height: 1.4">{html.escape(self.words)}</figcaption>'
        return f'<figure style="margin: 0">{self.svg()}{caption}</figure>'

    def __repr__(self) -> str:
        return self.words


def style() -> Any:
    """Return a context manager: whatever is drawn inside has the look of the course."""
    return matplotlib.rc_context(_STYLE)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure (inches) that belongs to no window and no global list. Call it in `style()`."""
    figure = Figure(figsize=(width, height))
    FigureCanvasSVG(figure)
    return figure


def headline(figure: Figure, finding: str) -> Text:
    """Write the finding over a figure, smaller where it would not fit in one line."""
    text = figure.suptitle(finding, x=0.01, ha="left", fontsize=12, fontweight="bold")
    needed, room = text.get_window_extent().width, 0.98 * figure.bbox.width
    text.set_fontsize(12 * min(1.0, room / needed))
    return text


def to_svg(figure: Figure, words: str) -> str:
    """Return `figure` as SVG markup for a page, with `words` as its text alternative."""
    buffer = io.StringIO()
    with style():
        figure.canvas.print_svg(buffer, metadata={"Date": None})  # savefig would draw it twice
    markup = buffer.getvalue()
    markup = markup[markup.index("<svg") :]
    for placeholder, colour in _PAGE_COLOURS.items():
        markup = markup.replace(placeholder, colour)
    label = html.escape(words, quote=True)
    opening = f'<svg role="img" aria-label="{label}" style="max-width: 100%; height: auto"'
    return re.sub("<svg", lambda _: opening, markup, count=1)


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
    item_count = sum(len(rank) for rank in first)
    share = 1.0 / item_count
    top = 1.1 * max(share, *(weight for ranks in panels.values() for rank in ranks for weight in rank))
    with style():
        figure = new_figure(max(7.6, 4.0 * len(panels)), 3.4)
        for column, (name, ranks) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(1, len(panels), column)
            _draw_weights(axes, ranks, share)
            axes.set_ylim(0, top)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.set_title(name)
            axes.set_ylabel("effective weight wᵢ (1)" if column == 1 else "")
        headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.03))
    return Picture(figure, words)


def _draw_weights(axes: Axes, ranks: Sequence[Sequence[float]], share: float) -> None:
    position, ticks, labels = 0.0, [], []
    for rank, weights in enumerate(ranks):
        places = [position + j for j in range(len(weights))]
        colours = [weight_colour(weight, share) for weight in weights]
        axes.bar(places, weights, width=0.78, color=colours)
        if weights:
            middle = sum(places) / len(places)
            ticks.append(middle)
            items = f"{len(weights)} item{'s' if len(weights) != 1 else ''}"
            labels.append(f"rank {rank}\n{items}\n{weight_note(weights[0], share)}")
        position += max(len(weights), 1) + 1.8
    axes.plot([-1.0, position - 1.8], [share, share], color=INK, linewidth=1.3, linestyle=(0, (4, 3)))
    axes.text(position - 1.6, share, f"1/N = {fraction(share)}", va="center", ha="left", fontsize=9.5)
    axes.set_xticks(ticks, labels)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-1.3, 1.2 * position)


def gradient_line(
    counts: Sequence[int], means: Sequence[float], item_mean: float, rank_mean: float, title: str, words: str
) -> Picture:
    """Draw every item as a dot over the value of its gradient, with the two means below the line.

    counts[r] items with gradient means[r] each, at most a few dozen in all.
    """
    marks = [(item_mean, "item mean", BLUE, "^"), (rank_mean, "mean of rank means", VERMILLION, "v")]
    with style():
        figure = new_figure(7.6, 3.0)
        axes = figure.add_subplot()
        for rank, (count, mean) in enumerate(zip(counts, means, strict=True)):
            axes.plot([mean] * count, [0.6 + j for j in range(count)], "o", color=GREY, ms=9)
            axes.annotate(f"rank {rank}: {count} items", (mean, count + 0.4), ha="center", fontsize=9.5)
        for value, name, colour, marker in marks:
            goes_left = value < max(item_mean, rank_mean)
            axes.plot([value], [-0.7], marker=marker, color=colour, ms=10)
            axes.annotate(
                f"{name} {value:g}",
                (value, -0.7),
                (-9 if goes_left else 9, 0),
                textcoords="offset points",
                ha="right" if goes_left else "left",
                va="center",
            )
        axes.axhline(0, color=FAINT, linewidth=1)
        axes.set_ylim(-1.8, max(counts) + 1.5)
        axes.set_xlim(min(means) - 1, max(means) + 1)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("gradient of one item, w − y (units of w)")
        headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.03))
    return Picture(figure, words)
