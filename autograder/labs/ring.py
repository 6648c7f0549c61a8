"""The ring beneath an all-reduce: which chunk goes where in which step. `ring_cost` says what it costs.

`stepper()` is the widget, `filmstrip` and `steps_table` are the same without a kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import ipywidgets as widgets

from autograder.labs.figures import BLUE, GREEN, GREY, VERMILLION, Picture
from autograder.labs.sheet import FAINT, Frame, Sheet

MAX_RANKS = 6
PHASES = ("reduce-scatter", "all-gather")


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


# ---- pictures and the stepper


def frame(world_size: int, step: int) -> Picture:
    """The ring after `step` steps (0: before the first): who has sent what to whom, and what each rank now holds."""
    sheet = Sheet(619, 281)
    sheet.headline(_finding(world_size, step))
    _draw_circle(sheet, world_size, step)
    grid = Frame(sheet, (291, 68, 322, 192), (0, world_size), (world_size, 0))
    sheet.text(452, 52, "what each rank holds: whose parts are in each chunk")
    _draw_grid(grid, world_size, step)
    for number in range(world_size):
        sheet.text(grid.left - 6, grid.y(number + 0.5), f"rank {number}", anchor="end")
        sheet.text(grid.x(number + 0.5), grid.bottom + 3, f"chunk {number}", stands="top")
    return Picture(sheet, _frame_words(world_size, step))


def filmstrip(world_size: int = 4) -> Picture:
    """All steps of a ring side by side, the stepper without a kernel."""
    half = world_size
    sheet = Sheet(662, 320)
    sheet.headline(f"{world_size} ranks, {2 * (world_size - 1)} steps: each moves one chunk per rank")
    for step in range(2 * (world_size - 1) + 1):
        row, column = (0, step) if step < half else (1, step - half + 1)
        box = (42 + column * 618 / half, 62 + 150 * row, 560 / half, 104)
        grid = Frame(sheet, box, (0, world_size), (world_size, 0))
        _draw_grid(grid, world_size, step)
        sheet.text((grid.left + grid.right) / 2, grid.top - 9, "start" if step == 0 else f"step {step}", 10)
        if column == row:  # the first of a row
            for rank in range(world_size):
                sheet.text(grid.left - 4, grid.y(rank + 0.5), f"rank {rank}", 9, anchor="end")
            doing = "add" if row == 0 else "keep"
            x = 8 if row == 0 else grid.left
            sheet.text(x, grid.top - 26, f"{PHASES[row]}: {doing} what arrives", anchor="start", face="italic")
    words = (
        f"Rows are ranks, columns are chunks, the digits say whose parts are in a chunk. In the first "
        f"{world_size - 1} steps every rank adds the chunk that arrives from the rank before it to its own; after "
        f"them rank r holds the complete sum of chunk r + 1 (mod {world_size}), in blue. In the other "
        f"{world_size - 1} steps the complete chunks are handed around. Bold frames mark what has just arrived."
    )
    return Picture(sheet, words)


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
        self._step.value = 0
        self._step.max = self._play.max = 2 * (self._ranks.value - 1)
        self._show()

    def _show(self, _: dict | None = None) -> None:
        self._view.value = frame(self._ranks.value, self._step.value)._repr_html_()


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


def _draw_circle(sheet: Sheet, world_size: int, step: int) -> None:
    middle, radius, size = (124, 158), 71, 32

    def around(turn: float, out: float = 1.0) -> tuple[float, float]:
        angle = 2 * math.pi * turn / world_size
        return middle[0] + out * radius * math.sin(angle), middle[1] - out * radius * math.cos(angle)

    for move in transfers(world_size, step) if step else ():
        sheet.arrow(around(move.sender), around(move.receiver), VERMILLION, 2, bend=0.18, short=17)
        sheet.text(*around(move.sender + 0.5, 1.32 if world_size > 2 else 0.75), f"chunk {move.chunk}", 9.5)
    for rank in range(world_size):
        x, y = around(rank)
        sheet.marker(x, y, "circle", size, GREY)
        sheet.text(x, y, f"rank\n{rank}", 9, colour="white", face="bold")


def _draw_grid(grid: Frame, world_size: int, step: int) -> None:
    held = holdings(world_size, step)
    arrived = {(m.receiver, m.chunk) for m in transfers(world_size, step)} if step else set()
    room = grid.width / world_size
    for rank, row in enumerate(held):
        for chunk, parts in enumerate(row):
            bottom, done = rank + 0.95, len(parts) == world_size
            text = "sum" if done else "+".join(map(str, sorted(parts)))
            look = {"edge": VERMILLION, "thick": 2.6} if (rank, chunk) in arrived else {"edge": FAINT}
            grid.bar(chunk + 0.05, chunk + 0.95, bottom, bottom - 0.9 * len(parts) / world_size,
                     BLUE if done else GREEN, paleness=0.0 if done else 0.58, of="parts")
            grid.bar(chunk + 0.05, chunk + 0.95, bottom, rank + 0.05, "none", **look,
                     of="just arrived" if (rank, chunk) in arrived else "chunk")
            grid.sheet.text(grid.x(chunk + 0.5), grid.y(rank + 0.5), text, min(10.0, 1.18 * room / max(len(text), 5)),
                            colour="white" if done else "", face="bold" if done else "")
