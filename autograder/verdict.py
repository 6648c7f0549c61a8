"""What a check says: right or not, the reason in a sentence, and what every item weighed.

A verdict is plain data. It turns itself into text for a terminal and into HTML for a notebook or a feedback
page. Whatever in it may come from a learner (messages, labels, output) is stripped, cut to size and escaped
on the way out.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction

MAX_MESSAGE_LINES = 5
MAX_LINE = 400  # characters of a message line in a terminal
MAX_ROWS = 12  # bars of a picture; more items are summarised by rank
MAX_OUTPUT_LINES = 8  # of each rank, the last ones
MESSAGE_BYTES, OUTPUT_BYTES, LABEL_BYTES = 1800, 1500, 60  # of HTML, so that a verdict stays near 8 KB
MAX_DENOMINATOR = 4096
SAME_WEIGHT = 2e-5  # relative to the largest right weight: what float32 can tell apart
BAR_CELLS = 24
# keys under which docs/field_guide.md has public reports
IN_THE_FIELD = frozenset((
    "mean-of-rank-means", "sum-of-rank-means", "mean-of-microbatch-means", "sum-of-microbatch-means",
    "global-divisor-then-mean", "divided-twice", "divided-by-world-size", "padding-counted", "unshifted-count",
    "divided-by-items", "clamped-count", "sequence-mean", "wrong-group", "active-ranks", "window-boundaries",
    "full-window-divisor-on-partial-window", "duplicated-items", "second-term-misweighted",
    "parameter-groups-differ", "overflow-or-truncation", "wrong-return-value"))
BLUE, ORANGE = "#0072B2", "#D55E00"  # told apart by colour-blind eyes, readable on white and on black
NOT_RIGHT = "✗ not right"


@dataclass(frozen=True)
class ItemWeight:
    """`count` items of rank `rank` that each weighed `weight` in the update and should weigh `expected`."""

    label: str
    rank: int
    count: int
    weight: float
    expected: float


@dataclass(frozen=True)
class Verdict:
    """The result of a check.

    credit: in [0, 1], the part of the points that is earned. diagnosis: a key of `autograder.diagnosis`, None
    if right. message: at most five lines with the numbers of the failing trial. trial: that trial as plain
    data (`name`, `world_size`, `counts`). items: what each item weighed there. output: (rank, text) that
    ranks printed. Nothing is checked here; `from_dict` checks what comes from another process.
    """

    exercise: str
    passed: bool
    credit: float
    diagnosis: str | None
    message: str
    backend: str = "gloo"
    trials: int = 0
    seconds: float = 0.0
    trial: dict | None = None
    items: tuple[ItemWeight, ...] = ()
    output: tuple[tuple[int, str], ...] = ()

    def to_dict(self) -> dict:
        """Plain numbers, text, lists and dicts; `from_dict` is the way back."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["items"] = [asdict(item) for item in self.items]
        plain["output"] = [[rank, text] for rank, text in self.output]
        return plain

    @classmethod
    def from_dict(cls, data: object) -> Verdict:
        """The verdict that `to_dict` described. Raises ValueError for anything else."""
        return _verdict_from(data)

    def __str__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)


class WrongUpdate(AssertionError):
    """Raised by a check that does not pass; `verdict` says why. In a notebook its traceback is one line."""

    def __init__(self, verdict: Verdict):
        super().__init__(verdict)
        self.verdict = verdict

    def __str__(self) -> str:
        return _with_key(self.verdict, "\n".join(_message_lines(self.verdict)))

    def _render_traceback_(self) -> list[str]:
        first_line = (_message_lines(self.verdict) or [""])[0]
        return [f"{type(self).__name__}: {_with_key(self.verdict, first_line)}"]


def readable_number(value: float) -> str:
    """A number as people write it: `1/4 = 0.25`, `1/3 ≈ 0.3333`, `2`, `0.1234`.

    The fraction is shown where one with a denominator up to 4096 fits (up to 64 with float32's error).
    """
    if not math.isfinite(value):
        return str(value)
    decimal = f"{value:.4g}"
    fraction = _fraction(value)
    if fraction is None:
        return decimal
    if fraction.denominator == 1 and abs(fraction.numerator) < 10**6:
        return str(fraction.numerator)
    return f"{fraction} {'=' if Fraction(decimal) == fraction else '≈'} {decimal}"


def plain_text(text: object, limit: int = 4000) -> str:
    """`text` without escape sequences, control, direction and other invisible characters, cut to `limit`."""
    text = str(text)[: 4 * limit]
    text = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).expandtabs(4)
    text = "".join(c for c in text if c == "\n" or not unicodedata.category(c).startswith("C"))
    return text if len(text) <= limit else text[: limit - 1] + "…"


_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor moves
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links, strings
    r"|\x1b[ -/]*[0-~]?"
)


# ---- text --------------------------------------------------------------------------------------------------


def _as_text(verdict: Verdict) -> str:
    mark = "✓" if verdict.passed else "✗"
    lines = [f"{mark} {plain_text(verdict.exercise, 80)}   {', '.join(_facts(verdict))}"]
    lines += [f"  {line}" for line in _message_lines(verdict)]
    if verdict.passed:
        return "\n".join(lines)
    if where := _trial_and_reason(verdict):
        lines.append(f"  {where}")
    if verdict.items:
        lines += ["", *(f"  {line}" for line in _table(verdict.items))]
    for rank, text in _tails(verdict.output):
        lines += ["", f"  rank {rank} printed:", *(f"  | {line}" for line in text.split("\n"))]
    return "\n".join(lines)


def _table(items: Sequence[ItemWeight]) -> list[str]:
    rows, hidden = _rows(items)
    axis = _Axis.of(rows, BAR_CELLS)
    head = ("", "rank", "items", "weighed", "should weigh")
    cells = [
        ("✓" if row.right else "✗", str(row.rank), row.label, row.weighed, readable_number(row.expected))
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [head, *cells]) for column in range(len(head))]

    def aligned(line: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))

    lines = [f"{aligned(head)}  (│ marks the right weight)"]
    lines += [f"{aligned(line)}  {_bar(row, axis)}".rstrip() for line, row in zip(cells, rows, strict=True)]
    return lines + ([f"… and {_plural(hidden, 'more group')}"] if hidden else [])


def _bar(row: _Row, axis: _Axis) -> str:
    zero, target = round(axis.at(0.0)), round(axis.at(row.expected))
    cells = [" "] * (BAR_CELLS + 1)
    if math.isfinite(row.weight):
        end = axis.at(row.weight)
        for cell in range(round(min(end, zero)), round(max(end, zero))):
            cells[cell] = "█"
        if end > zero and end - zero < 0.5:
            cells[zero] = "▏"
    else:
        cells[zero] = "?"
    cells[target] = "│"
    return "".join(cells)


# ---- HTML --------------------------------------------------------------------------------------------------


def _as_html(verdict: Verdict) -> str:
    # Style attributes only, colours inherited: the same text is readable in light, dark and feedback pages.
    colour, word = (BLUE, "✓ right") if verdict.passed else ("#B34700", f"{NOT_RIGHT} yet")
    parts = [
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;margin:4px 0;max-width:46em;'
        f'color:inherit;line-height:1.45">'
        f'<div><span style="background:{colour};color:#fff;font-weight:bold;border-radius:3px;'
        f'padding:1px 7px">'
        f"{word}</span> <code>{_escaped(verdict.exercise, 200)}</code> "
        f'<span style="opacity:.75">{_escaped(" · ".join(_facts(verdict)), 200)}</span></div>'
    ]
    if message := _message_lines(verdict):
        text = _escaped("\n".join(message), MESSAGE_BYTES).replace("\n", "<br>")
        parts.append(f'<div style="margin:6px 0">{text}</div>')
    if verdict.items:
        picture = _picture(verdict.items)
        if verdict.passed:
            picture = f"<details><summary>what each item weighed</summary>{picture}</details>"
        parts.append(picture)
    if not verdict.passed:
        if text := _trial_and_reason(verdict):
            parts.append(f'<div style="opacity:.75;font-size:90%">{_escaped(text, 500)}</div>')
        parts += _folded_output(verdict.output)
    return "".join(parts) + "</div>"


def _folded_output(output: Sequence[tuple[int, str]]) -> list[str]:
    tails = _tails(output)
    return [
        f'<details style="margin-top:4px"><summary>what rank {rank} printed</summary>'
        f'<pre style="white-space:pre-wrap;font-size:85%;margin:2px 0">'
        f"{_escaped(text, OUTPUT_BYTES // len(tails))}</pre></details>"
        for rank, text in tails
    ]


ROW_HEIGHT, BAR_HEIGHT, LEFT, BAR_WIDTH, WIDTH = 22, 13, 205, 220, 640


def _picture(items: Sequence[ItemWeight]) -> str:
    """A bar for every group of equal items, rank by rank, with the right weight as a line across it."""
    rows, hidden = _rows(items)
    axis = _Axis.of(rows, BAR_WIDTH)
    gap = 6 if len({row.rank for row in rows}) < len(rows) else 0  # between ranks of several bars
    shapes = [f'<text x="{LEFT}" y="13">weight of one item (line: the right weight)</text>']
    zero, top = LEFT + axis.at(0.0), 20
    for index, row in enumerate(rows):
        top += gap if index and rows[index - 1].rank != row.rank else 0
        middle, target = top + ROW_HEIGHT // 2, LEFT + axis.at(row.expected)
        end = LEFT + axis.at(row.weight) if math.isfinite(row.weight) else zero
        label = _escaped(plain_text(f"rank {row.rank}: {row.label}", 34), LABEL_BYTES)
        value = _short(row.weighed)
        value += " ✓" if row.right else f" ✗ should be {_short(readable_number(row.expected))}"
        left, width = min(end, zero), abs(end - zero) or 1
        shapes.append(
            f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{label}</text>'
            f'<rect x="{left:.1f}" y="{middle - BAR_HEIGHT // 2}" width="{width:.1f}" '
            f'height="{BAR_HEIGHT}" fill="{BLUE if row.right else ORANGE}" stroke="none"/>'
            f'<path d="M{target:.1f} {top + 1}v{ROW_HEIGHT - 2}" stroke-width="2"/>'
            f'<text x="{LEFT + BAR_WIDTH + 12}" y="{middle + 4}">{_escaped(value, 80)}</text>'
        )
        top += ROW_HEIGHT
    if hidden:
        shapes.append(f'<text x="{LEFT}" y="{top + 14}">… and {_plural(hidden, "more group")}</text>')
        top += ROW_HEIGHT
    words = _escaped(_in_words(rows), 700)
    texts_and_bars = "".join(shapes).replace("<text ", '<text fill="currentColor" stroke="none" ')
    return (
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {WIDTH} {top + 4}" width="{WIDTH}" '
        f'style="max-width:100%;height:auto;font:12px sans-serif" stroke="currentColor">'
        f'<title>{words}</title><path d="M{zero:.1f} 18V{top}" stroke-opacity=".5"/>{texts_and_bars}</svg>'
    )


def _in_words(rows: Sequence[_Row]) -> str:
    return "Weight of one item. " + " ".join(
        f"Rank {row.rank}, {row.label}: {_short(row.weighed)}"
        + ("." if row.right else f", should be {_short(readable_number(row.expected))}.")
        for row in rows
    )


# ---- rows of the table and of the picture ------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    rank: int
    label: str
    weight: float  # of one item; of a summary: the mean
    expected: float
    weighed: str
    right: bool


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    length: float

    @classmethod
    def of(cls, rows: Sequence[_Row], length: float) -> _Axis:
        ends = [0.0, *(end for row in rows for end in (row.weight, row.expected) if math.isfinite(end))]
        low, high = min(ends), max(ends)
        return cls(low, high if high > low else low + 1.0, length)

    def at(self, value: float) -> float:
        value = value if math.isfinite(value) else 0.0
        return (value - self.low) / (self.high - self.low) * self.length


def _rows(items: Sequence[ItemWeight]) -> tuple[list[_Row], int]:
    """Rows by rank, equal neighbours in one; by rank alone when there are many, and how many are left out."""
    scale = max((abs(item.expected) for item in items if math.isfinite(item.expected)), default=0.0)
    tolerance = SAME_WEIGHT * scale
    groups: list[list[ItemWeight]] = []
    for item in sorted(items, key=lambda item: item.rank):
        if groups and _alike(groups[-1][-1], item, tolerance):
            groups[-1].append(item)
        else:
            groups.append([item])
    if len(groups) > MAX_ROWS:
        ranks = sorted({item.rank for item in items})
        groups = [[item for item in items if item.rank == rank] for rank in ranks]
    # The picture is for what went wrong: when ranks must be left out, right ones go first.
    rows = [_row(group, tolerance) for group in groups]
    if len(rows) > MAX_ROWS:
        shown = sorted(sorted(range(len(rows)), key=lambda index: rows[index].right)[:MAX_ROWS])
        return [rows[index] for index in shown], len(rows) - MAX_ROWS
    return rows, 0


def _row(group: Sequence[ItemWeight], tolerance: float) -> _Row:
    total = sum(item.count for item in group)
    weight = sum(item.weight * item.count for item in group) / total if total else group[0].weight
    expected = sum(item.expected * item.count for item in group) / total if total else group[0].expected
    weights = [item.weight for item in group]
    weighed = readable_number(weight if len(group) > 1 else weights[0])
    if not all(_same(one, weights[0], tolerance) for one in weights):
        weighed = f"{min(weights):.4g} … {max(weights):.4g}"
    right = all(_same(item.weight, item.expected, tolerance) for item in group)
    return _Row(group[0].rank, _label(group, total), weight, expected, weighed, right)


def _label(group: Sequence[ItemWeight], total: int) -> str:
    first, last = (_without_rank(group[end]) for end in (0, -1))
    if not first:
        return _plural(total, "item")
    name = first if first == last else f"{first} … {last}"
    return f"{name} (×{total})" if total > 1 and str(total) not in name.split() else name


def _without_rank(item: ItemWeight) -> str:
    """The label, less a leading `rank r`, which stands beside it anyway."""
    return plain_text(item.label, 34).removeprefix(f"rank {item.rank}").lstrip(" ,:")[:24]


def _alike(one: ItemWeight, other: ItemWeight, tolerance: float) -> bool:
    return (
        one.rank == other.rank
        and _same(one.weight, other.weight, tolerance)
        and _same(one.expected, other.expected, tolerance)
    )


def _same(one: float, other: float, tolerance: float) -> bool:
    return one == other or abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other))


# ---- small things ------------------------------------------------------------------------------------------


def _facts(verdict: Verdict) -> list[str]:
    """The credit, and what ran: no backend where no ranks met, no trials where none began."""
    backend = [] if verdict.backend == "none" else [plain_text(verdict.backend, 40)]
    trials = [_plural(verdict.trials, "trial")] if verdict.trials else []
    return [f"credit {_credit(verdict)}", *backend, *trials]


def _message_lines(verdict: Verdict) -> list[str]:
    text = plain_text(verdict.message, MAX_MESSAGE_LINES * MAX_LINE).strip("\n")
    if not text and verdict.passed:
        text = "Right on every trial. Well done."
    return [plain_text(line, MAX_LINE) for line in text.split("\n")[:MAX_MESSAGE_LINES]] if text else []


def _with_key(verdict: Verdict, text: str) -> str:
    key = f" [{plain_text(verdict.diagnosis, 60)}]" if verdict.diagnosis else ""
    return f"{plain_text(verdict.exercise, 80)}{key}: {text}"


def _trial_and_reason(verdict: Verdict) -> str:
    reason = f"reason: {plain_text(verdict.diagnosis, 60)}" if verdict.diagnosis else ""
    if verdict.diagnosis in IN_THE_FIELD:
        reason += " (public trainers did this too: docs/field_guide.md)"
    return " · ".join(filter(None, [_trial_line(verdict), reason]))


def _trial_line(verdict: Verdict) -> str:
    if not verdict.trial:
        return ""
    facts = [f'trial "{plain_text(verdict.trial["name"], 60)}"' if "name" in verdict.trial else "a trial"]
    counts, world_size = verdict.trial.get("counts"), verdict.trial.get("world_size", 1)
    if counts or world_size != 1:
        facts.append(_plural(world_size, "rank"))
    if counts:
        facts.append(f"items per rank {plain_text(counts, 120)}")
    return ", ".join(facts)


def _tails(output: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The last lines that each of the first eight ranks with any output printed."""
    tails = []
    for rank, text in output:
        lines = [line for line in plain_text(text[-8000:], 8000).split("\n") if line.strip()]
        if lines:
            cut = ["…"] if len(lines) > MAX_OUTPUT_LINES else []
            tails.append((rank, "\n".join(plain_text(line, 160) for line in cut + lines[-MAX_OUTPUT_LINES:])))
    return tails[:8]


def _short(number: str) -> str:
    """A readable number without its second form: `1/4` of `1/4 = 0.25`."""
    return re.split(" [=≈] ", number)[0]


def _escaped(text: object, max_bytes: int) -> str:
    """`text` as HTML of at most `max_bytes` bytes, never cut inside an entity."""
    pieces, size = [], 0
    for character in plain_text(text):
        piece = html.escape(character)
        size += len(piece.encode())
        if size > max_bytes - 3:
            return "".join(pieces) + "…"
        pieces.append(piece)
    return "".join(pieces)


def _fraction(value: float) -> Fraction | None:
    for limit, error in ((MAX_DENOMINATOR, 1e-9), (64, 1e-6)):
        fraction = Fraction(value).limit_denominator(limit)
        if abs(float(fraction) - value) <= error * abs(value):
            return fraction
    return None


def _credit(verdict: Verdict) -> str:
    fraction = _fraction(verdict.credit)
    return str(fraction) if fraction is not None else f"{verdict.credit:.3g}"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# ---- the way back from plain data --------------------------------------------------------------------------


def _verdict_from(data: object) -> Verdict:
    if not isinstance(data, Mapping):
        raise ValueError(f"a verdict is a dict, not {type(data).__name__}")
    known = {field.name for field in fields(Verdict)}
    if unknown := [key for key in data if key not in known]:
        raise ValueError(f"a verdict has no field {unknown[0]!r}")
    values = dict(data)
    for name, kinds in _KINDS.items():
        if name not in values:
            if name in ("exercise", "passed", "credit", "diagnosis", "message"):
                raise ValueError(f"a verdict needs the field {name!r}")
            continue
        if type(values[name]) not in kinds:
            raise ValueError(f"field {name!r} of a verdict cannot be {values[name]!r}")
    if not 0 <= values["credit"] <= 1:
        raise ValueError(f"credit is a part of the points, in [0, 1], not {values['credit']!r}")
    if values.get("trials", 0) < 0 or not values.get("seconds", 0.0) >= 0:
        raise ValueError("a verdict has no negative number of trials or seconds")
    if not _is_plain(values.get("trial")):
        raise ValueError("a trial is described by plain numbers, text, lists and dicts")
    values["credit"] = float(values["credit"])
    values["items"] = tuple(_item_from(item) for item in values.get("items", ()))
    values["output"] = tuple(_output_from(entry) for entry in values.get("output", ()))
    return Verdict(**values)


_KINDS = {
    "exercise": (str,),
    "passed": (bool,),
    "credit": (int, float),
    "diagnosis": (str, type(None)),
    "message": (str,),
    "backend": (str,),
    "trials": (int,),
    "seconds": (int, float),
    "trial": (dict, type(None)),
    "items": (list, tuple),
    "output": (list, tuple),
}
_ITEM_KINDS = {
    "label": (str,),
    "rank": (int,),
    "count": (int,),
    "weight": (int, float),
    "expected": (int, float),
}


def _item_from(data: object) -> ItemWeight:
    if not isinstance(data, Mapping) or set(data) != set(_ITEM_KINDS):
        raise ValueError(f"an item's weight is a dict with {', '.join(_ITEM_KINDS)}, not {data!r}")
    for name, kinds in _ITEM_KINDS.items():
        if type(data[name]) not in kinds:
            raise ValueError(f"field {name!r} of an item's weight cannot be {data[name]!r}")
    return ItemWeight(**data)


def _output_from(data: object) -> tuple[int, str]:
    if not isinstance(data, (list, tuple)) or [type(part) for part in data] != [int, str]:
        raise ValueError(f"output is a list of [rank, text], not {data!r}")
    return (data[0], data[1])


def _is_plain(value: object, depth: int = 8) -> bool:
    if value is None or type(value) in (bool, int, float, str):
        return True
    if depth and isinstance(value, (list, tuple)):
        return all(_is_plain(part, depth - 1) for part in value)
    if depth and type(value) is dict:
        return all(type(key) is str and _is_plain(part, depth - 1) for key, part in value.items())
    return False
