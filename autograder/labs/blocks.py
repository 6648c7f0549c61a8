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
_NUMBER = 0.13  # height of a number, as a share of the height of the axes


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
    heights = [weight * item_count for weight in weights]
    edges: list[tuple[float, float]] = []  # left and right of every block
    for before, block in zip([None, *blocks], blocks, strict=False):
        left = edges[-1][1] if edges else 0.0
        left += 0.0 if before is None else gap if before.rank != block.rank else gap / 4
        edges.append((left, left + (block.items or gap / 4)))
    for block, height, (left, right) in zip(blocks, heights, edges, strict=True):
        if block.items:
            colour = figures.weight_colour(height, 1.0)
            axes.bar(left, height, width=right - left, align="edge", linewidth=0, color=colour)
    for run in _runs(blocks, heights):
        height = heights[run[0]]
        crosses = height < 1 and 1 - height < _NUMBER * top  # then the dashed line would go through the number
        axes.annotate(multiple(height), ((edges[run[0]][0] + edges[run[-1]][1]) / 2, 1.0 if crosses else height),
                      (0, 2), textcoords="offset points", ha="center", fontsize=9)
    end = edges[-1][1]
    axes.plot([0, end], [1, 1], color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.set_xlim(-0.02 * end, 1.02 * end)
    axes.set_ylim(0, top)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xticks([(left + right) / 2 for left, right in edges], [block.name for block in blocks], fontsize=8.5)
    axes.tick_params(axis="x", length=0)
    for rank in dict.fromkeys(block.rank for block in blocks):
        own = [edge for block, edge in zip(blocks, edges, strict=True) if block.rank == rank]
        axes.annotate(f"rank {rank}", ((own[0][0] + own[-1][1]) / 2, 0), (0, -17), xycoords=axes.get_xaxis_transform(),
                      textcoords="offset points", ha="center", va="top", fontsize=9)


def _runs(blocks: Sequence[Block], heights: Sequence[float]) -> list[list[int]]:
    """Neighbours on one rank that weigh the same, without the empty ones: one number does for all of them."""
    runs: list[list[int]] = []
    for i, (block, height) in enumerate(zip(blocks, heights, strict=True)):
        if not block.items:
            continue
        last = runs[-1][-1] if runs else None
        if last is not None and blocks[last].rank == block.rank and math.isclose(heights[last], height, rel_tol=1e-9):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def multiple(value: float) -> str:
    """A multiple of 1/N as people read it: 1, 3.28, 0.5, 31."""
    nearest = round(value)
    if nearest and abs(value - nearest) <= 1e-9 * abs(nearest):
        return str(nearest)
    return f"{value:.3g}"
