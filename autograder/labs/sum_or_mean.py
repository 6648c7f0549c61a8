"""Pictures of lesson 2: by what factor an update is off, and where training ends when it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from autograder.labs import figures
from autograder.labs.figures import BLUE, GREEN, TAUPE, VERMILLION, Picture
from autograder.labs.sheet import DASHED, FAINT, Frame, Sheet, round_ticks, text_width

# How a series looks in `paths`: what lies over what is drawn thin over thick, so that both are seen.
_LOOKS = (
    {"colour": VERMILLION, "thick": 5.5, "paleness": 0.45},
    {"colour": BLUE, "thick": 2.6},
    {"colour": TAUPE, "thick": 1.6, "dashes": "6 3"},
    {"colour": GREEN, "thick": 2.0, "dashes": "2 2.4"},
)


def factor_picture(factors: Mapping[str, float], title: str, words: str) -> Picture:
    """Draw the factor c in u = c ∇L for several steps, on an axis of doublings; right is 1."""
    places = [2.0**k for k in range(-4, 5)]
    left = 18 + max(map(text_width, factors))
    sheet = Sheet(590, 90 + 30 * len(factors))
    sheet.headline(title)
    frame = Frame(sheet, (left, 32, 576 - left, 30 * len(factors)), (places[0], places[-1]), (len(factors) - 0.5, -0.5),
                  (math.log, float))
    frame.line([(1, -0.5), (1, len(factors) - 0.5)], thick=1.3, dashes=DASHED)
    for row, factor in enumerate(factors.values()):
        colour = figures.weight_colour(factor, 1.0)
        frame.line([(1, row), (factor, row)], colour, 5)
        sheet.marker(frame.x(factor), frame.y(row), "circle", 11, colour, of="factor")
        side = -1 if factor < 1 else 1
        sheet.text(frame.x(factor) + 11 * side, frame.y(row), figures.fraction(factor),
                   anchor="end" if side < 0 else "start", face="bold")
    frame.left_axis(dict(enumerate(factors)), tick=0)
    frame.bottom_axis({place: figures.fraction(place) for place in places},
                      "factor c in u = c ∇L (1); every step to the right doubles it")
    return Picture(sheet, words)


def paths(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    minimum: float,
    elsewhere: float,
    title: str,
    words: str,
) -> Picture:
    """Draw a parameter over the steps of training, one panel for each way of stepping.

    panels: optimizer -> name of the gradient it was fed -> the parameter after 0, 1, … steps; up to four gradients,
    the same in every panel. minimum: where the objective has its minimum; elsewhere: where the other one has its own.
    """
    sheet = Sheet(749, 281)
    sheet.headline(title)
    wide = (749 - 50) / len(panels)
    for column, (name, series) in enumerate(panels.items()):
        steps = max(len(path) for path in series.values()) - 1
        frame = Frame(sheet, (50 + wide * column, 50, wide - 24, 158), (0, steps), (6.6, 10.2))
        frame.title(name)
        frame.line([(0, minimum), (steps, minimum)], FAINT, 1)
        frame.line([(0, elsewhere), (steps, elsewhere)], FAINT, 1, "2 2")
        with frame.clipped():
            for look, (label, path) in zip(_LOOKS, series.items(), strict=False):
                frame.line(enumerate(path), **look, of=label)
        ticks = {w: f"{w:g}" if column == 0 else "" for w in (7, minimum, elsewhere, 9, 10)}
        frame.left_axis(ticks, "parameter w (units of the targets)" if column == 0 else "")
        frame.bottom_axis(round_ticks(0, steps, 4, least_step=1), "step")
    keys = {label: partial(_draw_key, sheet, look)
            for look, label in zip(_LOOKS, next(iter(panels.values())), strict=False)}
    sheet.legend((749 - sum(38 + text_width(label, 9.5) for label in keys)) / 2, 266, keys)
    return Picture(sheet, words)


def _draw_key(sheet: Sheet, look: Mapping, x: float, y: float) -> None:
    sheet.line([(x - 11, y), (x + 11, y)], **look)
