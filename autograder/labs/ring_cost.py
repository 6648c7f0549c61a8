"""What an all-reduce on a ring costs: startups and bytes, over the payload and over the ranks.

`lab()` is the widget, `table()` the same without a kernel. `measure` times this machine's gloo, so that the ideal
line has something real beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import ipywidgets as widgets

from autograder.labs.figures import BLUE, VERMILLION, Picture
from autograder.labs.panel import Panel
from autograder.labs.sheet import DASHED, DOTTED, FAINT, INK, Frame, Sheet, text_width


def sent_bytes(payload: float, world_size: int) -> float:
    """Bytes that each rank sends for an all-reduce of `payload` bytes on a ring: 2(n−1)s/n."""
    return 2 * (world_size - 1) * payload / world_size


def ideal_seconds(payload: float, world_size: int, startup: float, bandwidth: float) -> float:
    """2(n−1)(α + s/(nβ)): 2(n−1) steps, each one startup α (s) and one chunk of s/n bytes at β bytes/s."""
    return 2 * (world_size - 1) * (startup + payload / (world_size * bandwidth))


def turning_point(world_size: int, startup: float, bandwidth: float) -> float:
    """The payload nαβ in bytes at which startups and bytes cost the same time."""
    return world_size * startup * bandwidth


@dataclass(frozen=True)
class Measured:
    """One all-reduce on this machine: payload in bytes, and the shortest of several tries in seconds."""

    world_size: int
    payload: int
    seconds: float


PAYLOADS = tuple(4**k for k in (1, 3, 5, 7, 8, 9, 10, 11))  # 4 bytes to 4 MiB


def measure(
    world_sizes: Sequence[int] = (2, 4, 8), payloads: Sequence[int] = PAYLOADS, tries: int = 4
) -> list[Measured]:
    """Time gloo's all_reduce of float32 tensors on this machine, each the shortest of `tries`."""
    from autograder.ranks.launch import run_on_ranks

    points = []
    for world_size in world_sizes:
        arguments = [(list(payloads), tries)] * world_size
        of_rank = run_on_ranks(_time_all_reduce, arguments, world_size=world_size, backend="gloo", timeout=30.0)
        slowest = [max(times) for times in zip(*of_rank, strict=True)]
        points += [Measured(world_size, payload, s) for payload, s in zip(payloads, slowest, strict=True)]
    return points


def fit(points: Sequence[Measured]) -> tuple[float, float]:
    """(α, β) of the ideal ring through the smallest and the largest payload of the smallest world size."""
    smallest = min(point.world_size for point in points)
    mine = sorted((p for p in points if p.world_size == smallest), key=lambda point: point.payload)
    steps = 2 * (smallest - 1)
    startup = min(point.seconds for point in mine[: max(1, len(mine) // 2)]) / steps
    rest = max(mine[-1].seconds / steps - startup, 1e-9)
    return startup, mine[-1].payload / smallest / rest


def _time_all_reduce(payloads: list[int], tries: int) -> list[float]:
    import time

    import torch
    import torch.distributed as dist

    shortest = []
    for payload in payloads:
        tensor = torch.zeros(payload // 4, dtype=torch.float32)
        times = []
        for _ in range(tries):
            began = time.perf_counter()
            dist.all_reduce(tensor)
            times.append(time.perf_counter() - began)
        shortest.append(min(times))
    return shortest


# ---- the lab

RANKS = (1, 2, 3, 4, 6, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Cost:
    """payload s in bytes, ranks n, startup α in seconds, bandwidth β in bytes per second."""

    payload: float
    world_size: int
    startup: float
    bandwidth: float

    @property
    def seconds(self) -> float:
        return ideal_seconds(self.payload, self.world_size, self.startup, self.bandwidth)

    @property
    def turning_point(self) -> float:
        return turning_point(self.world_size, self.startup, self.bandwidth)

    @property
    def startup_share(self) -> float:
        """How much of the time is startup, 0 to 1; 0 for one rank."""
        return 2 * (self.world_size - 1) * self.startup / self.seconds if self.seconds else 0.0

    @property
    def finding(self) -> str:
        where = f"{quantity(self.payload, 'B')} on {self.world_size} ranks: {quantity(self.seconds, 's')}"
        if self.world_size == 1:
            return "One rank: nothing to send"
        if self.startup_share > 0.8:
            return f"{where}, almost all of it startup"
        if self.startup_share < 0.2:
            return f"{where}, almost all of it bytes"
        return f"{where}; {100 * self.startup_share:.0f} % of it startup"


STATES: Mapping[str, Cost] = MappingProxyType(
    {
        "one number, 8 GPUs in a box": Cost(4, 8, 5e-6, 1e11),
        "1 GB of gradients, 8 GPUs in a box": Cost(1e9, 8, 5e-6, 1e11),
        "1 GB, 8 machines, 10 Gbit/s": Cost(1e9, 8, 5e-5, 1.25e9),
        "25 MB bucket, 8 machines, 10 Gbit/s": Cost(2.5e7, 8, 5e-5, 1.25e9),
        "25 MB bucket, 1024 GPUs": Cost(2.5e7, 1024, 2e-5, 5e10),
    }
)


def table(states: Mapping[str, Cost] = STATES) -> str:
    """Return the states as a Markdown table, the reading of the lab without a kernel."""
    rows = [["state", "payload s", "ranks n", "startup α", "bandwidth β", "sent per rank", "time",
             "of it startup", "turning point nαβ"], ["---"] * 9]
    for name, c in states.items():
        rows.append([name, quantity(c.payload, "B"), str(c.world_size), quantity(c.startup, "s"),
                     quantity(c.bandwidth, "B/s"), quantity(sent_bytes(c.payload, c.world_size), "B"),
                     quantity(c.seconds, "s"), f"{100 * c.startup_share:.0f} %", quantity(c.turning_point, "B")])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lab(measured: Sequence[Measured] = ()) -> RingCostLab:
    """Return the lab; with measured points it starts at the α and β fitted to them."""
    return RingCostLab(measured)


class RingCostLab(Panel):
    """Sliders for payload, ranks, startup and bandwidth, all in steps like 1, 2, 5, 10."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        states = dict(STATES)
        if measured:
            here = Cost(1e6, min(m.world_size for m in measured), *fit(measured))
            states = {"this machine, fitted": here, **STATES}
        self._measured = measured
        costs = list(states.values())
        self._payload = _slider("payload s", "B", 0, 11, [cost.payload for cost in costs])
        self._ranks = widgets.SelectionSlider(options=RANKS, description="ranks n")
        self._startup = _slider("startup α", "s", -7, -2, [cost.startup for cost in costs])
        self._bandwidth = _slider("bandw. β", "B/s", 6, 12, [cost.bandwidth for cost in costs])
        super().__init__(states, costs[0], [[], [self._payload, self._ranks], [self._startup, self._bandwidth]])

    def read(self) -> Cost:
        return Cost(self._payload.value, self._ranks.value, self._startup.value, self._bandwidth.value)

    def write(self, cost: Cost) -> None:
        self._payload.value, self._ranks.value = cost.payload, cost.world_size
        self._startup.value, self._bandwidth.value = cost.startup, cost.bandwidth

    def draw(self, cost: Cost) -> Picture:
        return picture(cost, self._measured)


_PAYLOADS = tuple(10 ** (k / 4) for k in range(0, 45))
_WORLD_SIZES = tuple(range(2, 17)) + tuple(2 ** (k / 2) for k in range(9, 21))


def picture(cost: Cost, measured: Sequence[Measured] = ()) -> Picture:
    """Draw the ideal time over the payload and over the ranks, with what was measured beside it."""
    sheet = Sheet(648, 281)
    sheet.headline(cost.finding)
    over_payload = [replace(cost, payload=s) for s in _PAYLOADS]
    over_ranks = [replace(cost, world_size=n) for n in _WORLD_SIZES]
    mine = [m for m in measured if m.world_size == cost.world_size]
    sizes = {10.0**k: quantity(10.0**k, "B") for k in (0, 3, 6, 9)}
    left = _frame(sheet, 61, 324, "over the payload s", (1, 1e11), sizes, "time of one all-reduce")
    right = _frame(sheet, 431, 207, "over the ranks n", (1.8, 1200), {n: str(n) for n in (2, 8, 32, 128, 1024)})
    with left.clipped():
        if cost.world_size > 1:
            turn = left.x(min(max(cost.turning_point, 1), 1e11))
            sheet.line([(turn, left.top), (turn, left.bottom)], FAINT, 1, of="turning point")
            note = f"nαβ = {quantity(cost.turning_point, 'B')}"
            over = turn + 6 + text_width(note, 9) > left.right
            sheet.text(turn + (-5 if over else 5), left.bottom - 9, note, 9, anchor="end" if over else "start")
        _draw_lines(left, [(c.payload, c) for c in over_payload])
    with right.clipped():
        _draw_lines(right, [(c.world_size, c) for c in over_ranks])
    for m in mine:
        sheet.marker(left.x(m.payload), left.y(m.seconds), "circle", 5, VERMILLION, edge=INK, thick=0.5, of="measured")
    for frame, x in ((left, cost.payload), (right, cost.world_size)):
        if cost.seconds:
            sheet.marker(frame.x(x), frame.y(cost.seconds), "circle", 8, "none", edge=INK, thick=2, of="this cost")
    _draw_legend(sheet, left, measured, cost.world_size)
    return Picture(sheet, _words(cost, mine))


def _words(cost: Cost, mine: Sequence[Measured]) -> str:
    words = (
        f"{cost.finding}. Each rank sends {quantity(sent_bytes(cost.payload, cost.world_size), 'B')} "
        f"in {2 * (cost.world_size - 1)} steps. Left of {quantity(cost.turning_point, 'B')} startups cost more "
        "(the dashed line is flat there), right of it the bytes (the dotted line rises with them). Over the ranks, "
        "startups grow without end while the bytes' time levels off at 2s/β."
    )
    if mine:
        ratios = [m.seconds / ideal_seconds(m.payload, m.world_size, cost.startup, cost.bandwidth) for m in mine]
        words += f" Measured points lie between {min(ratios):.2g} and {max(ratios):.2g} times the ideal line."
    return words


def _frame(sheet: Sheet, left: float, width: float, title: str, limits: tuple[float, float],
           ticks: Mapping[float, str], label: str = "") -> Frame:
    frame = Frame(sheet, (left, 52, width, 186), limits, (1e-7, 1e3), (math.log, math.log))
    frame.title(title)
    frame.left_axis({t: quantity(t, "s") for t in (1e-6, 1e-3, 1.0, 1e3)}, label)
    frame.bottom_axis(ticks)
    return frame


_LINES = {"ideal ring": (BLUE, 2.2, ""), "startups alone": (INK, 1.2, DASHED), "bytes alone": (INK, 1.4, DOTTED)}


def _draw_lines(frame: Frame, costs: Sequence[tuple[float, Cost]]) -> None:
    of = {"ideal ring": lambda c: c.seconds,
          "startups alone": lambda c: 2 * (c.world_size - 1) * c.startup,
          "bytes alone": lambda c: ideal_seconds(c.payload, c.world_size, 0.0, c.bandwidth)}
    for name, (colour, thick, dashes) in _LINES.items():
        points = [(x, of[name](cost)) for x, cost in costs]
        frame.line([(x, y) for x, y in points if y > 0], colour, thick, dashes, of=name)


def _draw_legend(sheet: Sheet, frame: Frame, measured: Sequence[Measured], world_size: int) -> None:
    x, y = frame.left + 10, frame.top + 14
    for name, (colour, thick, dashes) in _LINES.items():
        sheet.line([(x, y), (x + 20, y)], colour, thick, dashes)
        sheet.text(x + 28, y, name, 9, anchor="start")
        y += 13
    if measured:
        sizes = sorted({m.world_size for m in measured})
        here = f"measured here (gloo, n = {world_size})"
        note = here if world_size in sizes else f"measured only for n = {', '.join(map(str, sizes))}"
        sheet.marker(x + 10, y, "circle", 5, VERMILLION, edge=INK, thick=0.5)
        sheet.text(x + 28, y, note, 9, anchor="start")


def quantity(value: float, unit: str) -> str:
    """A number with a decimal prefix, three digits: 1.75e9 B as "1.75 GB"."""
    if value == 0:
        return f"0 {unit}"
    steps = [(prefix, size) for prefix, size in _PREFIXES if size >= 1 or not unit.startswith("B")]
    prefix, size = next((pair for pair in steps if abs(value) >= 0.9995 * pair[1]), steps[-1])
    return f"{value / size:.3g} {prefix}{unit}"


_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3), ("µ", 1e-6), ("n", 1e-9))


def _slider(name: str, unit: str, low: int, high: int, also: Sequence[float]) -> widgets.SelectionSlider:
    """A slider over 1, 2, 5, 10, … from 10^low to 10^high, and over the values that the states need."""
    series = {float(f"{digit}e{power}") for power in range(low, high) for digit in (1, 2, 5)} | {10.0**high, *also}
    options = [(quantity(value, unit), value) for value in sorted(series)]
    return widgets.SelectionSlider(options=options, description=name)
