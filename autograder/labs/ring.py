"""The ring beneath an all-reduce: which chunk goes where in which step, and what it costs.

`stepper()` and `cost_lab()` are the widgets. `steps_table` and `cost_table` are the same without a kernel. `measure`
times this machine's gloo, so that the ideal line has something real beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import ipywidgets as widgets
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from autograder.labs import figures
from autograder.labs.figures import BLUE, FAINT, GREEN, GREY, INK, VERMILLION

MAX_RANKS = 6
PHASES = ("reduce-scatter", "all-gather")
_PALE_GREEN = (*to_rgb(GREEN), 0.42)


# ---- what moves


@dataclass(frozen=True)
class Transfer:
    """In one step, `sender` hands chunk number `chunk` to `receiver`."""

    sender: int
    receiver: int
    chunk: int


def phase(world_size: int, step: int) -> str:
    """Which phase step number `step` (from 1) belongs to: the first P−1 add up, the other P−1 hand around."""
    return PHASES[0] if step < world_size else PHASES[1]


def transfers(world_size: int, step: int) -> tuple[Transfer, ...]:
    """Who sends which chunk to whom in step `step`, from 1 to 2(P−1). All of it happens at the same time.

    Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
    """
    if not 1 <= step <= 2 * (world_size - 1):
        raise ValueError(f"a ring of {world_size} has steps 1 to {2 * (world_size - 1)}, not {step}")
    return tuple(
        Transfer(rank, (rank + 1) % world_size, (rank - step + 1) % world_size) for rank in range(world_size)
    )


def holdings(world_size: int, step: int) -> list[list[frozenset[int]]]:
    """[rank][chunk]: whose contributions are in what that rank holds of that chunk after `step` steps."""
    held = [[frozenset({rank})] * world_size for rank in range(world_size)]
    for done in range(1, step + 1):
        before = [list(row) for row in held]
        for move in transfers(world_size, done):
            arriving = before[move.sender][move.chunk]
            adds = phase(world_size, done) == PHASES[0]
            held[move.receiver][move.chunk] = arriving | before[move.receiver][move.chunk] if adds else arriving
    return held


# ---- what it costs


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


# ---- the stepper


@lru_cache(maxsize=128)
def frame(world_size: int, step: int) -> figures.Picture:
    """The ring after `step` steps (0: before the first): who has sent what to whom, and what each rank now holds."""
    finding = _finding(world_size, step)
    with figures.style():
        figure = figures.new_figure(8.6, 3.9)
        circle = figure.add_axes((0.0, 0.06, 0.4, 0.76))
        grid = figure.add_axes((0.47, 0.06, 0.52, 0.7))
        _draw_circle(circle, world_size, step)
        _draw_grid(grid, world_size, step, labels=True)
        figure.text(0.73, 0.81, "what each rank holds: whose parts are in each chunk", ha="center", fontsize=10.5)
        figure.suptitle(finding, x=0.01, ha="left", fontsize=12, fontweight="bold")
    return figures.Picture(figure, _frame_words(world_size, step))


def filmstrip(world_size: int = 4) -> figures.Picture:
    """All steps of a ring side by side, the stepper without a kernel."""
    count = 2 * (world_size - 1) + 1
    half = world_size
    with figures.style():
        figure = figures.new_figure(9.2, 4.6)
        for step in range(count):
            row, column = (0, step) if step < half else (1, step - half + 1)
            axes = figure.add_axes((0.055 + column * 0.945 / half, 0.5 - 0.47 * row, 0.86 / half, 0.33))
            _draw_grid(axes, world_size, step, labels=False)
            axes.set_title("start" if step == 0 else f"step {step}", fontsize=10)
            if column == (0 if row == 0 else 1):
                for rank in range(world_size):
                    axes.text(-0.08, rank + 0.5, f"rank {rank}", ha="right", va="center", fontsize=9)
        figure.text(0.012, 0.895, f"{PHASES[0]}: add what arrives", fontsize=10.5, style="italic")
        figure.text(0.3, 0.425, f"{PHASES[1]}: keep what arrives", fontsize=10.5, style="italic")
        title = f"{world_size} ranks, {2 * (world_size - 1)} steps: each moves one chunk per rank"
        figures.headline(figure, title)
    words = (
        f"Rows are ranks, columns are chunks, the digits say whose parts are in a chunk. In the first "
        f"{world_size - 1} steps every rank adds the chunk that arrives from the rank before it to its own; after "
        f"them rank r holds the complete sum of chunk r + 1 (mod {world_size}), in blue. In the other "
        f"{world_size - 1} steps the complete chunks are handed around. Bold frames mark what has just arrived."
    )
    return figures.Picture(figure, words)


def steps_table(world_size: int = 4) -> str:
    """Return all steps as a Markdown table: which chunk goes over which link, and how many are complete after it."""
    links = [f"{rank} → {(rank + 1) % world_size}" for rank in range(world_size)]
    rows = [["step", "phase", *links, "complete chunks on a rank"], ["---"] * (world_size + 3)]
    for step in range(1, 2 * (world_size - 1) + 1):
        complete = {sum(len(parts) == world_size for parts in row) for row in holdings(world_size, step)}
        chunks = [f"chunk {move.chunk}" for move in transfers(world_size, step)]
        rows.append([str(step), phase(world_size, step), *chunks, ", ".join(map(str, sorted(complete)))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def stepper(world_size: int = 4) -> RingStepper:
    """Return the stepper, before its first step; the last line of a cell shows it."""
    return RingStepper(world_size)


class RingStepper(widgets.VBox):
    """Ranks, a step to look at, and a button that plays them; the picture follows."""

    def __init__(self, world_size: int) -> None:
        self._ranks = widgets.IntSlider(value=world_size, min=2, max=MAX_RANKS, description="ranks P")
        self._step = widgets.IntSlider(value=0, min=0, max=2 * (world_size - 1), description="step")
        self._play = widgets.Play(value=0, min=0, max=2 * (world_size - 1), interval=1200)
        widgets.jslink((self._play, "value"), (self._step, "value"))
        self._view = widgets.HTML()
        super().__init__([widgets.HBox([self._ranks, self._step, self._play]), self._view])
        self._ranks.observe(self._ranks_changed, "value")
        self._step.observe(self._show, "value")
        self._show()

    def _ranks_changed(self, _: dict) -> None:
        last = 2 * (self._ranks.value - 1)
        self._step.value = 0
        self._step.max = self._play.max = last
        self._show()

    def _show(self, _: dict | None = None) -> None:
        self._view.value = _frame_html(self._ranks.value, self._step.value)


@lru_cache(maxsize=128)
def _frame_html(world_size: int, step: int) -> str:
    return frame(world_size, step)._repr_html_()


def _finding(world_size: int, step: int) -> str:
    last = 2 * (world_size - 1)
    if step == 0:
        return f"Before: every rank holds its own {world_size} chunks"
    if step == world_size - 1:
        return f"Step {step} of {last}: each rank holds one complete sum, a different one each"
    if step == last:
        return f"Step {step} of {last}: every rank holds every complete sum"
    doing = "adds what arrives" if step < world_size else "keeps what arrives"
    return f"Step {step} of {last}, {phase(world_size, step)}: every rank passes one chunk on and {doing}"


def _frame_words(world_size: int, step: int) -> str:
    complete = [sum(len(chunk) == world_size for chunk in row) for row in holdings(world_size, step)]
    if step == 0:
        return f"Nothing is sent yet. {world_size} ranks, the tensor cut into {world_size} chunks."
    sent = f"So far each rank has sent {step}/{world_size} of its payload."
    moves = "; ".join(f"{m.sender} → {m.receiver}: chunk {m.chunk}" for m in transfers(world_size, step))
    return f"{moves}. Complete chunks by rank: {', '.join(map(str, complete))}. {sent}"


def _draw_circle(axes: Axes, world_size: int, step: int) -> None:
    axes.set_xlim(-1.6, 1.6)
    axes.set_ylim(-1.5, 1.5)
    axes.set_aspect("equal")
    axes.axis("off")
    at = [
        (math.sin(2 * math.pi * r / world_size), math.cos(2 * math.pi * r / world_size)) for r in range(world_size)
    ]
    for move in transfers(world_size, step) if step else ():
        (x0, y0), (x1, y1) = at[move.sender], at[move.receiver]
        axes.annotate("", (x1, y1), (x0, y0), arrowprops={
            "arrowstyle": "-|>", "color": VERMILLION, "linewidth": 2, "shrinkA": 17, "shrinkB": 17,
            "connectionstyle": "arc3,rad=-0.18"})
        angle = 2 * math.pi * (move.sender + 0.5) / world_size
        out = 1.32 if world_size > 2 else 0.75
        axes.text(out * math.sin(angle), out * math.cos(angle), f"chunk {move.chunk}", ha="center", va="center",
                  fontsize=9.5)
    for rank, (x, y) in enumerate(at):
        axes.plot([x], [y], "o", color=GREY, ms=32)
        axes.text(x, y, f"rank\n{rank}", ha="center", va="center", fontsize=9, color="white", fontweight="bold",
                  linespacing=0.9)


def _draw_grid(axes: Axes, world_size: int, step: int, labels: bool) -> None:
    held = holdings(world_size, step)
    arrived = {(m.receiver, m.chunk) for m in transfers(world_size, step)} if step else set()
    cells = [(rank, chunk) for rank in range(world_size) for chunk in range(world_size)]
    complete = [len(held[rank][chunk]) == world_size for rank, chunk in cells]
    inks = [(BLUE if done else _PALE_GREEN) for done in complete]
    fills = [_rectangle(chunk, rank, len(held[rank][chunk]) / world_size) for rank, chunk in cells]
    edges = [VERMILLION if cell in arrived else FAINT for cell in cells]
    widths = [2.6 if cell in arrived else 1.0 for cell in cells]
    frames = [_rectangle(chunk, rank, 1.0) for rank, chunk in cells]
    axes.add_collection(PolyCollection(fills, facecolors=inks, linewidths=0))
    axes.add_collection(PolyCollection(frames, facecolors="none", edgecolors=edges, linewidths=widths))
    cell_points = 72 * axes.get_position().width * axes.figure.get_figwidth() / world_size
    for (rank, chunk), done in zip(cells, complete, strict=True):
        text = "sum" if done else "+".join(map(str, sorted(held[rank][chunk])))
        axes.text(chunk + 0.5, rank + 0.5, text, ha="center", va="center",
                  fontsize=min(10.0, 1.18 * cell_points / max(len(text), 5)),
                  color="white" if done else INK, fontweight="bold" if done else "normal")
    axes.set_xlim(-0.03, world_size + 0.03)
    axes.set_ylim(world_size + 0.03, -0.03)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])
    if labels:
        axes.set_yticks([r + 0.5 for r in range(world_size)], [f"rank {r}" for r in range(world_size)])
        axes.set_xticks([c + 0.5 for c in range(world_size)], [f"chunk {c}" for c in range(world_size)])


def _rectangle(chunk: int, rank: int, share: float) -> list[tuple[float, float]]:
    """The corners of a cell filled from below to `share`."""
    left, right, bottom, top = chunk + 0.05, chunk + 0.95, rank + 0.95, rank + 0.95 - 0.9 * share
    return [(left, bottom), (right, bottom), (right, top), (left, top)]


# ---- the cost lab

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


def cost_table(states: Mapping[str, Cost] = STATES) -> str:
    """Return the states as a Markdown table, the reading of the lab without a kernel."""
    rows = [["state", "payload s", "ranks n", "startup α", "bandwidth β", "sent per rank", "time",
             "of it startup", "turning point nαβ"], ["---"] * 9]
    for name, c in states.items():
        rows.append([name, quantity(c.payload, "B"), str(c.world_size), quantity(c.startup, "s"),
                     quantity(c.bandwidth, "B/s"), quantity(sent_bytes(c.payload, c.world_size), "B"),
                     quantity(c.seconds, "s"), f"{100 * c.startup_share:.0f} %", quantity(c.turning_point, "B")])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cost_picture(cost: Cost, measured: Sequence[Measured] = ()) -> figures.Picture:
    """The ideal time over the payload and over the ranks, with what was measured beside it."""
    drawing = _CostDrawing(measured)
    drawing.show(cost)
    return drawing.picture(cost)


def cost_lab(measured: Sequence[Measured] = ()) -> RingCostLab:
    """Return the lab; with measured points it starts at the α and β fitted to them."""
    return RingCostLab(measured)


class RingCostLab(widgets.VBox):
    """Sliders for payload, ranks, startup and bandwidth, all in steps like 1, 2, 5, 10, and the picture."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._states = dict(STATES)
        if measured:
            here = Cost(1e6, min(m.world_size for m in measured), *fit(measured))
            self._states = {"this machine, fitted": here, **STATES}
        states = list(self._states.values())
        self._drawing = _CostDrawing(measured)
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *self._states], description="start from")
        self._payload = _slider("payload s", "B", 0, 11, [cost.payload for cost in states])
        self._ranks = widgets.SelectionSlider(options=RANKS, description="ranks n")
        self._startup = _slider("startup α", "s", -7, -2, [cost.startup for cost in states])
        self._bandwidth = _slider("bandw. β", "B/s", 6, 12, [cost.bandwidth for cost in states])
        self._view = widgets.HTML()
        super().__init__([
            self._presets, widgets.HBox([self._payload, self._ranks]),
            widgets.HBox([self._startup, self._bandwidth]), self._view])
        self.cost = next(iter(self._states.values()))
        self._presets.observe(self._take_preset, "value")
        for slider in (self._payload, self._ranks, self._startup, self._bandwidth):
            slider.observe(self._slider_moved, "value")

    @property
    def cost(self) -> Cost:
        """What the sliders say."""
        return Cost(self._payload.value, self._ranks.value, self._startup.value, self._bandwidth.value)

    @cost.setter
    def cost(self, cost: Cost) -> None:
        self._setting = True
        try:
            self._payload.value, self._ranks.value = cost.payload, cost.world_size
            self._startup.value, self._bandwidth.value = cost.startup, cost.bandwidth
            self._presets.value = next((n for n, known in self._states.items() if known == cost), "your own")
        finally:
            self._setting = False
        self._drawing.show(self.cost)
        self._view.value = self._drawing.picture(self.cost)._repr_html_()

    def _take_preset(self, change: dict) -> None:
        if not self._setting and change["new"] in self._states:
            self.cost = self._states[change["new"]]

    def _slider_moved(self, _: dict) -> None:
        if not self._setting:
            self.cost = self.cost


class _CostDrawing:
    """One figure whose artists follow a cost."""

    _payloads = tuple(10 ** (k / 4) for k in range(0, 45))
    _ranks = tuple(range(2, 17)) + tuple(2 ** (k / 2) for k in range(9, 21))

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._measured = list(measured)
        with figures.style():
            self._figure = figures.new_figure(9.0, 3.9)
            self._title = self._figure.text(0.01, 0.94, "", fontsize=12, fontweight="bold")
            left = self._left = self._figure.add_axes((0.085, 0.15, 0.5, 0.66))
            right = self._right = self._figure.add_axes((0.665, 0.15, 0.32, 0.66))
            sizes = {10.0**k: quantity(10.0**k, "B") for k in (0, 3, 6, 9)}
            self._prepare(left, "over the payload s", (1, 1e11), sizes)
            self._prepare(right, "over the ranks n", (1.8, 1200), {n: str(n) for n in (2, 8, 32, 128, 1024)})
            left.set_ylabel("time of one all-reduce")
            self._lines = {axes: self._lines_on(axes) for axes in (left, right)}
            (self._points,) = left.plot([], [], "o", color=VERMILLION, ms=5, mec=INK, mew=0.5)
            if measured:
                at = ", ".join(map(str, sorted({m.world_size for m in measured})))
                self._points.set_label(f"measured here (gloo, n = {at})")
            self._turn = left.axvline(1, color=FAINT, linewidth=1)
            self._turn_note = left.annotate("", (1, 1e-7), (5, 4), textcoords="offset points", fontsize=9)
            self._dots = {axes: axes.plot([], [], "o", color=INK, ms=8, mfc="none", mew=2)[0] for axes in (left, right)}
            left.legend(loc="upper left", fontsize=9, bbox_to_anchor=(0.0, 0.97))

    def show(self, cost: Cost) -> None:
        """Move the artists to `cost`."""
        steps = 2 * (cost.world_size - 1)
        with figures.style():
            self._title.set_text(cost.finding)
            whole, startup, moving = self._lines[self._left]
            whole.set_data(self._payloads, [
                ideal_seconds(s, cost.world_size, cost.startup, cost.bandwidth) for s in self._payloads])
            startup.set_data(self._payloads, [steps * cost.startup] * len(self._payloads))
            moving.set_data(self._payloads, [
                ideal_seconds(s, cost.world_size, 0.0, cost.bandwidth) for s in self._payloads])
            whole, startup, moving = self._lines[self._right]
            whole.set_data(self._ranks, [
                ideal_seconds(cost.payload, n, cost.startup, cost.bandwidth) for n in self._ranks])
            startup.set_data(self._ranks, [2 * (n - 1) * cost.startup for n in self._ranks])
            moving.set_data(self._ranks, [ideal_seconds(cost.payload, n, 0.0, cost.bandwidth) for n in self._ranks])
            mine = [m for m in self._measured if m.world_size == cost.world_size]
            self._points.set_data([m.payload for m in mine], [m.seconds for m in mine])
            shown = min(max(cost.turning_point, 1), 1e11)
            self._turn.set_xdata([shown, shown])
            self._turn.set_visible(cost.world_size > 1)
            self._turn_note.xy = (shown, 1e-7)
            self._turn_note.set_text(f"nαβ = {quantity(cost.turning_point, 'B')}" if cost.world_size > 1 else "")
            for axes, x in ((self._left, cost.payload), (self._right, cost.world_size)):
                self._dots[axes].set_data([x], [cost.seconds] if cost.seconds else [math.nan])

    def picture(self, cost: Cost) -> figures.Picture:
        """Return the figure with the same content in words."""
        words = (
            f"{cost.finding}. Each rank sends {quantity(sent_bytes(cost.payload, cost.world_size), 'B')} "
            f"in {2 * (cost.world_size - 1)} steps. Left of {quantity(cost.turning_point, 'B')} startups cost more "
            "(the dashed line is flat there), right of it the bytes (the dotted line rises with them). Over the ranks, "
            "startups grow without end while the bytes' time levels off at 2s/β."
        )
        mine = [m for m in self._measured if m.world_size == cost.world_size]
        if mine:
            ratios = [m.seconds / ideal_seconds(m.payload, m.world_size, cost.startup, cost.bandwidth) for m in mine]
            words += f" Measured points lie between {min(ratios):.2g} and {max(ratios):.2g} times the ideal line."
        return figures.Picture(self._figure, words)

    def _prepare(
        self, axes: Axes, title: str, limits: tuple[float, float], ticks: Mapping[float, str]
    ) -> None:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(*limits)
        axes.set_ylim(1e-7, 1e3)
        axes.set_title(title)
        times = (1e-6, 1e-3, 1.0, 1e3)
        for axis, places, names in (
            (axes.xaxis, list(ticks), list(ticks.values())),
            (axes.yaxis, times, [quantity(t, "s") for t in times]),
        ):  # a few fixed ticks: a slider must not wait for a dozen labels with exponents
            axis.set_major_locator(FixedLocator(places))
            axis.set_major_formatter(FixedFormatter(names))
            axis.set_minor_locator(NullLocator())

    def _lines_on(self, axes: Axes):
        (whole,) = axes.plot([], [], color=BLUE, linewidth=2.2, label="ideal ring")
        (startup,) = axes.plot([], [], color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="startups alone")
        (moving,) = axes.plot([], [], color=INK, linewidth=1.4, linestyle=(0, (1, 2)), label="bytes alone")
        return whole, startup, moving


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
