"""Effective weights as blocks: as wide as it has items, as high as each of them weighs. Its area is its vote.

Lessons 4 and 5 draw sequences and microbatches this way, from real updates and in their labs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from autograder.labs import figures
from autograder.labs.figures import INK, Picture

_GAP = 0.05  # between ranks, as a share of the width of all blocks


@dataclass(frozen=True)
class Block:
    """Items that weigh alike: a sequence or a microbatch. name: short, under the block."""

    rank: int
    items: int
    name: str


def weight_blocks(
    panels: Mapping[str, Sequence[float]], blocks: Sequence[Block], title: str, words: str, columns: int = 3
) -> Picture:
    """Draw what an item of every block weighs in several updates, as multiples of 1/N.

    panels: name of an update -> the weight of one item of each block (a block without items: any number).
    title: the finding, in one line. words: the same picture in a sentence.
    """
    item_count = sum(block.items for block in blocks)
    rows = math.ceil(len(panels) / columns)
    top = 1.18 * max(1.0, *(w * item_count for ws in panels.values() for w in ws if math.isfinite(w)))
    with figures.style():
        figure = figures.new_figure(9.6, 0.6 + 2.25 * rows)
        for place, (name, weights) in enumerate(panels.items(), start=1):
            axes = figure.add_subplot(rows, columns, place)
            draw_blocks(axes, blocks, weights, top)
            axes.set_title(name)
            if (place - 1) % columns == 0:
                axes.set_ylabel("weight · N")
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.0), w_pad=0.8, h_pad=0.9)
    return Picture(figure, words)


def draw_blocks(axes: Axes, blocks: Sequence[Block], weights: Sequence[float], top: float) -> None:
    """Draw the blocks into `axes`, whose vertical axis, weight · N, ends at `top`."""
    item_count = sum(block.items for block in blocks)
    gap = max(1.0, _GAP * item_count)
    left, ticks, names, rank = 0.0, [], [], blocks[0].rank
    for block, weight in zip(blocks, weights, strict=True):
        left += (gap if block.rank != rank else 0.0) + (gap / 4 if ticks and block.rank == rank else 0.0)
        rank = block.rank
        width = block.items or gap / 4
        ticks.append(left + width / 2)
        names.append(block.name)
        if block.items:
            height = weight * item_count
            axes.bar(left, height, width=width, align="edge", linewidth=0,
                     color=figures.weight_colour(height, 1.0))
            inside = 0.72 < height < 1 - 1e-9 and top < 5  # above it, the dashed line would cross the number
            axes.annotate(multiple(height), (left + width / 2, height), (0, -3 if inside else 2),
                          textcoords="offset points", ha="center", va="top" if inside else "bottom", fontsize=9,
                          color="white" if inside else INK)
        left += width
    axes.plot([0, left], [1, 1], color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.set_xlim(-0.02 * left, 1.02 * left)
    axes.set_ylim(0, top)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xticks(ticks, names, fontsize=8.5)
    axes.tick_params(axis="x", length=0)


def multiple(value: float) -> str:
    """A multiple of 1/N as people read it: 1, 3.28, 0.5, 31."""
    nearest = round(value)
    if nearest and abs(value - nearest) <= 1e-9 * abs(nearest):
        return str(nearest)
    return f"{value:.3g}"
