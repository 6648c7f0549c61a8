"""Marks on a sheet, written as inline SVG: rectangles, lines, text, and scales with their axes.

A lab draws its picture anew at every move of a slider, so a picture is a short string that a millisecond puts
together. Lengths are points from the top left corner; text and axes take the colours and the font of the page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

INK = "currentColor"
FAINT = "var(--jp-border-color1, #999)"
SIZE = 10.5  # of text
DASHED, DOTTED = "5 4", "1.5 3"
_PAGE = (
    "max-width: 100%; height: auto; overflow: visible; color: var(--jp-content-font-color1, #777); "
    "font-family: var(--jp-content-font-family, sans-serif)"
)
_LINE = 1.2  # distance of lines of text, as a multiple of their size

Point = tuple[float, float]


class Sheet:
    """A drawing in progress, `width` × `height` points. `of` names a mark, for those who read the markup."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._marks: list[str] = []

    def markup(self, words: str) -> str:
        """Return the drawing as SVG for a page, with `words` as its text alternative."""
        size = f'width="{_number(self.width)}pt" viewBox="0 0 {_number(self.width)} {_number(self.height)}"'
        label = html.escape(words, quote=True)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" {size} font-size="{SIZE}" '
                f'fill="currentColor" style="{_PAGE}">{"".join(self._marks)}</svg>')

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str = "none", *, edge: str = "",
                  thick: float = 1.0, dashes: str = "", rounded: float = 0.0, paleness: float = 0.0,
                  of: str = "") -> None:
        """From its top left corner (x, y)."""
        self._mark("rect", x=x, y=y, width=width, height=height, rx=rounded or "", fill=fill,
                   fill_opacity=1 - paleness if paleness else "", data_of=of, **_stroke(edge, thick, dashes))

    def line(self, points: Iterable[Point], colour: str = INK, thick: float = 1.2, dashes: str = "", *,
             paleness: float = 0.0, of: str = "") -> None:
        """Through all `points`."""
        self._mark("polyline", points=_points(points), fill="none", data_of=of,
                   opacity=1 - paleness if paleness else "", **_stroke(colour, thick, dashes))

    def marker(self, x: float, y: float, shape: str, size: float, fill: str, *, edge: str = "", thick: float = 1.0,
               of: str = "") -> None:
        """A circle, square, diamond, or triangle that points up or down, centred at (x, y)."""
        if shape == "circle":
            self._mark("circle", cx=x, cy=y, r=size / 2, fill=fill, data_of=of, **_stroke(edge, thick, ""))
        else:
            corners = _points((x + size / 2 * dx, y + size / 2 * dy) for dx, dy in _SHAPES[shape])
            self._mark("polygon", points=corners, fill=fill, data_of=of, **_stroke(edge, thick, ""))

    def text(self, x: float, y: float, words: str, size: float = SIZE, *, anchor: str = "middle",
             stands: str = "middle", colour: str = "", face: str = "", turned: bool = False, of: str = "") -> None:
        """Lines of text that start, have their middle or end at x, and their top, middle or bottom at y."""
        lines = words.split("\n")
        above = {"top": 0.0, "middle": 0.5, "bottom": 1.0}[stands] * _LINE * size * len(lines)
        for number, line in enumerate(lines):
            if line:
                down = y - above + (number + 0.5) * _LINE * size + 0.35 * size
                self._mark("text", html.escape(line), x=x, y=down, font_size=size if size != SIZE else "",
                           text_anchor=anchor if anchor != "start" else "", fill=colour,
                           font_weight=face if face == "bold" else "", font_style=face if face == "italic" else "",
                           transform=f"rotate(-90 {_number(x)} {_number(y)})" if turned else "", data_of=of)

    def arrow(self, start: Point, end: Point, colour: str = INK, thick: float = 1.3, *, bend: float = 0.0,
              short: float = 0.0) -> None:
        """From start to end, `short` of both; `bend`: how far left of the way it swings, as a share of its length."""
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0)
        head = 4.0 + 2 * thick
        swing = ((x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0))
        first, tip, base = short / length, 1 - short / length, 1 - (short + 0.8 * head) / length

        def at(t: float, u: float) -> Point:  # the blossom of the curve: on it where t = u
            return tuple((1 - t) * (1 - u) * a + (t * (1 - u) + u * (1 - t)) * b + t * u * c
                         for a, b, c in zip(start, swing, end, strict=True))

        (ax, ay), (bx, by), (cx, cy) = at(first, first), at(first, base), at(base, base)
        path = f"M{_number(ax)} {_number(ay)}Q{_number(bx)} {_number(by)} {_number(cx)} {_number(cy)}"
        self._mark("path", d=path, fill="none", **_stroke(colour, thick, ""))
        (tx, ty) = at(tip, tip)
        along = ((tx - cx) / (0.8 * head), (ty - cy) / (0.8 * head))
        foot = (tx - head * along[0], ty - head * along[1])
        wings = [(foot[0] + side * 0.4 * head * along[1], foot[1] - side * 0.4 * head * along[0]) for side in (1, -1)]
        self._mark("polygon", points=_points([(tx, ty), *wings]), fill=colour)

    def headline(self, finding: str) -> None:
        """Write the finding over a drawing, smaller where it would not fit in one line."""
        room = 0.97 * self.width
        size = 12 * min(1.0, room / text_width(finding, 12, "bold"))
        self.text(0.01 * self.width, 12, finding, size, anchor="start", face="bold", of="headline")

    def legend(self, x: float, y: float, keys: Mapping[str, Callable[[float, float], None]]) -> None:
        """Write entries side by side from x: each key draws its sign with the centre it is given."""
        for name, key in keys.items():
            key(x + 9, y)
            self.text(x + 23, y, name, 9.5, anchor="start")
            x += 38 + text_width(name, 9.5)

    @contextmanager
    def clipped(self, x: float, y: float, width: float, height: float) -> Iterator[None]:
        """Whatever is drawn inside is seen within this rectangle only."""
        place = " ".join(map(_number, (x, y, width, height)))
        self._marks.append(f'<svg x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" '
                           f'height="{_number(height)}" viewBox="{place}">')
        yield
        self._marks.append("</svg>")

    def _mark(self, tag: str, content: str = "", **attributes: float | str) -> None:
        written = "".join(
            f' {name.replace("_", "-")}="{html.escape(value) if isinstance(value, str) else _number(value)}"'
            for name, value in attributes.items() if value != "")
        self._marks.append(f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>")


@dataclass(frozen=True)
class Scale:
    """Where a value stands: from low at `start` to high at `end`, evenly by `measure` (math.log: by ratios)."""

    low: float
    high: float
    start: float
    end: float
    measure: Callable[[float], float] = float

    def __call__(self, value: float) -> float:
        low, high, here = self.measure(self.low), self.measure(self.high), self.measure(value)
        return self.start + (here - low) / (high - low) * (self.end - self.start)


class Frame:
    """A region of a sheet with a scale in each direction, `x` and `y`."""

    def __init__(self, sheet: Sheet, box: tuple[float, float, float, float], across: Point, up: Point,
                 measures: tuple[Callable, Callable] = (float, float)) -> None:
        """box: left, top, width, height. across, up: the values at both ends of each direction."""
        self.sheet = sheet
        self.left, self.top, self.width, self.height = box
        self.right, self.bottom = self.left + self.width, self.top + self.height
        self.x = Scale(*across, self.left, self.right, measures[0])
        self.y = Scale(*up, self.bottom, self.top, measures[1])

    def title(self, words: str) -> None:
        """Write over the top left corner."""
        self.sheet.text(self.left, self.top - 10, words, anchor="start")

    def bottom_axis(self, ticks: Mapping[float, str], label: str = "", *, tick: float = 3.5, size: float = SIZE,
                    at: str = "middle") -> None:
        """The line below, with a name under each tick; label: units, in the middle or at the end."""
        self.sheet.line([(self.left, self.bottom), (self.right, self.bottom)], FAINT, 0.8)
        lines = max((name.count("\n") + 1 for name in ticks.values()), default=0)
        for value, name in ticks.items():
            x = self.x(value)
            if tick:
                self.sheet.line([(x, self.bottom), (x, self.bottom + tick)], FAINT, 0.8)
            self.sheet.text(x, self.bottom + tick + 2.5, name, size, stands="top")
        if label:
            x = {"middle": (self.left + self.right) / 2, "end": self.right}[at]
            self.sheet.text(x, self.bottom + tick + 5 + lines * _LINE * size, label, anchor=at, stands="top")

    def left_axis(self, ticks: Mapping[float, str], label: str = "", *, tick: float = 3.5, size: float = SIZE) -> None:
        """The line on the left, with a name beside each tick."""
        self.sheet.line([(self.left, self.top), (self.left, self.bottom)], FAINT, 0.8)
        for value, name in ticks.items():
            y = self.y(value)
            if tick:
                self.sheet.line([(self.left - tick, y), (self.left, y)], FAINT, 0.8)
            self.sheet.text(self.left - tick - 4, y, name, size, anchor="end")
        if label:
            widest = max((text_width(line, size) for name in ticks.values() for line in name.split("\n")), default=0)
            self.sheet.text(self.left - tick - 14 - widest, (self.top + self.bottom) / 2, label, turned=True)

    def line(self, points: Iterable[Point], colour: str = INK, thick: float = 1.2, dashes: str = "", *,
             paleness: float = 0.0, of: str = "") -> None:
        """Through points in values."""
        placed = [(self.x(x), self.y(y)) for x, y in points]
        self.sheet.line(placed, colour, thick, dashes, paleness=paleness, of=of)

    def bar(self, left: float, right: float, low: float, high: float, fill: str, **look) -> None:
        """A rectangle whose sides stand at values."""
        x, y = self.x(left), self.y(high)
        self.sheet.rectangle(x, y, self.x(right) - x, self.y(low) - y, fill, **look)

    def clipped(self) -> AbstractContextManager[None]:
        """Whatever is drawn inside is seen within this region only."""
        return self.sheet.clipped(self.left, self.top, self.width, self.height)


def round_ticks(low: float, high: float, most: int = 5, least_step: float = 0.0) -> dict[float, str]:
    """At most `most` + 1 round values between low and high, `least_step` or more apart, with how they are written."""
    rough = max((high - low) / most, least_step) or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    values = (number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1))
    decimals = max(0, -math.floor(math.log10(step * (1 + 1e-9))))
    return {value: f"{value:.{decimals}f}".replace("-", "−") if round(value / step) else "0" for value in values}


def text_width(words: str, size: float = SIZE, face: str = "") -> float:
    """About the width of a line of text: the fonts of pages differ, and most of them are narrower."""
    letters = sum(_NARROW if c in "iljtfrI.,:;'|!()[] /·" else _WIDE if c in "mwMW@%×→" else _USUAL for c in words)
    return size * letters * (1.07 if face == "bold" else 1.0)


_NARROW, _USUAL, _WIDE = 0.34, 0.59, 0.92  # of the size
_SHAPES = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    "up": ((-1, 1), (1, 1), (0, -1)),
    "down": ((-1, -1), (1, -1), (0, 1)),
}


def _number(value: float) -> str:
    written = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if written == "-0" else written


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _stroke(colour: str, thick: float, dashes: str) -> dict[str, float | str]:
    return {"stroke": colour, "stroke_width": thick, "stroke_dasharray": dashes} if colour else {}
