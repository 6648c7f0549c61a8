"""Effective weights as blocks: as wide as it has items, as high as each of them weighs. Its area is its vote.

Lessons 4 and 5 draw sequences and microbatches this way, from real updates and in their labs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.labs import figures
from autograder.labs.figures import Picture
from autograder.labs.sheet import DASHED, Frame, Sheet, round_ticks

_GAP = 0.05  # between ranks, as a share of the width of all blocks
_NUMBER = 12.0  # height of a number in points


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
    wide, high = (691 - 28) / min(columns, len(panels)), 162
    sheet = Sheet(691, 42 + high * rows)
    sheet.headline(title)
    for place, (name, weights) in enumerate(panels.items()):
        row, column = divmod(place, columns)
        frame = block_frame(sheet, (44 + wide * column, 50 + high * row, wide - 30, high - 52), blocks, top)
        frame.title(name)
        draw_blocks(frame, blocks, weights, "weight · N" if column == 0 else "")
    return Picture(sheet, words)


def block_frame(sheet: Sheet, box: tuple[float, float, float, float], blocks: Sequence[Block], top: float) -> Frame:
    """A region for `draw_blocks` whose vertical axis, weight · N, ends at `top`."""
    end = _edges(blocks)[-1][1]
    return Frame(sheet, box, (-0.02 * end, 1.02 * end), (0, top))


def draw_blocks(frame: Frame, blocks: Sequence[Block], weights: Sequence[float], label: str = "") -> None:
    """Draw the blocks into a frame made for them; label: the name of the vertical axis."""
    sheet, edges = frame.sheet, _edges(blocks)
    item_count = sum(block.items for block in blocks)
    heights = [weight * item_count for weight in weights]
    for block, height, (left, right) in zip(blocks, heights, edges, strict=True):
        if block.items:
            frame.bar(left, right, 0, height, figures.weight_colour(height, 1.0), of=f"block of rank {block.rank}")
    frame.line([(0, 1), (edges[-1][1], 1)], dashes=DASHED, of="share")
    for run in _runs(blocks, heights):
        over, share = frame.y(heights[run[0]]), frame.y(1.0)
        if 0 <= over - share < _NUMBER:
            over = share - 1  # else the dashed line would go through the number
        middle = (edges[run[0]][0] + edges[run[-1]][1]) / 2
        sheet.text(frame.x(middle), over, multiple(heights[run[0]]), 9, stands="bottom", of="weight")
    frame.left_axis(round_ticks(0, frame.y.high, 5, least_step=1), label)
    frame.bottom_axis({(left + right) / 2: block.name for block, (left, right) in zip(blocks, edges, strict=True)},
                      tick=0, size=8.5)
    for rank in dict.fromkeys(block.rank for block in blocks):
        own = [edge for block, edge in zip(blocks, edges, strict=True) if block.rank == rank]
        sheet.text(frame.x((own[0][0] + own[-1][1]) / 2), frame.bottom + 15, f"rank {rank}", 9, stands="top")


def _edges(blocks: Sequence[Block]) -> list[tuple[float, float]]:
    """Left and right of every block, in items; one without items is as wide as the gap between two blocks."""
    gap = max(1.0, _GAP * sum(block.items for block in blocks))
    edges: list[tuple[float, float]] = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        left = edges[-1][1] if edges else 0.0
        left += 0.0 if before is None else gap if before.rank != block.rank else gap / 4
        edges.append((left, left + (block.items or gap / 4)))
    return edges


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
