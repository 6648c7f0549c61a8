"""The time that synchronising takes: forward, backward and synchronisation with and without `no_sync`.

`lab()` is the widget, `table()` the same without a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import ipywidgets as widgets

from autograder.labs.figures import BLUE, GREY, VERMILLION, Picture
from autograder.labs.panel import Panel
from autograder.labs.sheet import FAINT, Frame, Sheet, round_ticks

FORWARD, BACKWARD = 1.0, 2.0  # of a microbatch, in units of one forward pass
_COLOURS = {"forward": GREY, "backward": BLUE, "synchronise": VERMILLION, "wait": "none"}


@dataclass(frozen=True)
class Timing:
    """microbatches[r] = K_r ≥ 1; sync: what one synchronisation takes; slowness[r]: factor on the time of rank r."""

    microbatches: tuple[int, ...] = (4, 4)
    sync: float = 2.0
    slowness: tuple[float, ...] = (1.0, 1.0)

    @property
    def equal(self) -> bool:
        return len(set(self.microbatches)) == 1

    @property
    def every(self) -> Schedule:
        """Synchronising in every backward, as DDP does by itself."""
        return _schedule(self, lambda k, last: True)

    @property
    def once(self) -> Schedule:
        """All but the last backward under `no_sync`."""
        return _schedule(self, lambda k, last: k == last)

    @property
    def finding(self) -> str:
        if not self.equal:
            return "Unequal K: synchronising every time waits for ever, synchronising once does not"
        K = self.microbatches[0]
        before, after = self.every.end, self.once.end
        if K == 1:
            return "One microbatch per rank: no_sync has nothing to save"
        return (f"One synchronisation instead of {K}: {after:.4g} instead of {before:.4g} units of time, "
                f"1/{K} of the traffic")


@dataclass(frozen=True)
class Schedule:
    """segments[r]: (kind, start, end) of rank r; end: when the last rank is done; stuck: it never ends."""

    segments: tuple[tuple[tuple[str, float, float], ...], ...]
    end: float
    stuck: bool
    syncs: int


def _schedule(timing: Timing, synchronises) -> Schedule:
    clocks = [0.0] * len(timing.microbatches)
    segments: list[list[tuple[str, float, float]]] = [[] for _ in clocks]
    syncs, stuck, waiting = 0, False, []

    def spend(rank: int, kind: str, length: float) -> None:
        segments[rank].append((kind, clocks[rank], clocks[rank] + length))
        clocks[rank] += length

    progress = [0] * len(clocks)
    while any(k < K for k, K in zip(progress, timing.microbatches, strict=True)):
        waiting = []
        for rank, K in enumerate(timing.microbatches):
            while progress[rank] < K:
                spend(rank, "forward", FORWARD * timing.slowness[rank])
                spend(rank, "backward", BACKWARD * timing.slowness[rank])
                progress[rank] += 1
                if synchronises(progress[rank] - 1, K - 1):
                    waiting.append(rank)
                    break
        if len(waiting) < len(clocks):
            stuck = True
            break
        meet = max(clocks)
        for rank in waiting:
            if meet > clocks[rank]:
                spend(rank, "wait", meet - clocks[rank])
            spend(rank, "synchronise", timing.sync)
        syncs += 1
    if stuck:
        for rank in waiting:
            spend(rank, "wait", 4.0)
    return Schedule(tuple(map(tuple, segments)), max(clocks), stuck, syncs)


TIMINGS: Mapping[str, Timing] = MappingProxyType(
    {
        "four microbatches": Timing(),
        "a slow network": Timing(sync=6.0),
        "one rank has longer sequences": Timing(slowness=(1.0, 1.8)),
        "one microbatch": Timing((1, 1)),
        "unequal K": Timing((4, 2)),
    }
)


def table(timings: Mapping[str, Timing] = TIMINGS) -> str:
    """Return the timings as a Markdown table."""
    rows = [["state", "K by rank", "one synchronisation takes", "time, every backward", "time, `no_sync`",
             "synchronisations"], ["---"] * 6]
    for name, timing in timings.items():
        every = "for ever" if timing.every.stuck else f"{timing.every.end:.4g}"
        number = f"{'–' if timing.every.stuck else timing.every.syncs} → {timing.once.syncs}"
        rows.append([name, ", ".join(map(str, timing.microbatches)), f"{timing.sync:.4g}", every,
                     f"{timing.once.end:.4g}", number])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lab(timing: Timing = TIMINGS["four microbatches"]) -> TimelineLab:
    """Return the lab of the time line, set to `timing`; the last line of a cell shows it."""
    return TimelineLab(timing)


class TimelineLab(Panel):
    """Sliders for K, the cost of a synchronisation and the pace of rank 1; both ways one above the other."""

    def __init__(self, timing: Timing) -> None:
        self._microbatches = [widgets.IntSlider(min=1, max=6, description=f"K of rank {r}") for r in range(2)]
        self._sync = widgets.FloatSlider(min=0, max=8, step=0.5, description="sync takes")
        self._slow = widgets.FloatSlider(min=1, max=3, step=0.1, description="rank 1 ×")
        super().__init__(TIMINGS, timing, [[], self._microbatches, [self._sync, self._slow]])

    def read(self) -> Timing:
        return Timing(tuple(s.value for s in self._microbatches), self._sync.value, (1.0, self._slow.value))

    def write(self, timing: Timing) -> None:
        for slider, K in zip(self._microbatches, timing.microbatches, strict=True):
            slider.value = K
        self._sync.value, self._slow.value = timing.sync, timing.slowness[1]

    def draw(self, timing: Timing) -> Picture:
        return picture(timing)


def picture(timing: Timing) -> Picture:
    """Draw both ways of synchronising, one above the other, over the same time."""
    schedules = {"synchronise in every backward": timing.every, "all but the last under no_sync": timing.once}
    reach = 1.02 * max(schedule.end for schedule in schedules.values())
    sheet = Sheet(691, 264)
    sheet.headline(timing.finding)
    parts = []
    for place, (name, schedule) in enumerate(schedules.items()):
        ranks = len(schedule.segments)
        frame = Frame(sheet, (50, 50 + 98 * place, 629, 66), (0, reach), (ranks - 0.5, -0.5))
        result = "waits for ever" if schedule.stuck else f"done after {schedule.end:.4g}"
        frame.title(f"{name}: {result}")
        _draw_schedule(frame, schedule)
        frame.left_axis({rank: f"rank {rank}" for rank in range(ranks)}, tick=0)
        ticks = round_ticks(0, reach, 8)
        if place == 0:
            frame.bottom_axis(dict.fromkeys(ticks, ""))
        else:
            frame.bottom_axis(ticks, "time (forward passes of one microbatch)", at="end")
        number = f"{schedule.syncs} synchronisation{'s' if schedule.syncs != 1 else ''}"
        parts.append(f"{name}: {number}, {result}")
    sheet.legend(44, 250, {kind: partial(_draw_key, sheet, kind) for kind in _COLOURS})
    return Picture(sheet, f"{timing.finding}. {'; '.join(parts)}.")


def _draw_key(sheet: Sheet, kind: str, x: float, y: float) -> None:
    sheet.rectangle(x - 10, y - 4, 20, 8, _COLOURS[kind], edge=FAINT if kind == "wait" else "", thick=0.8)


def _draw_schedule(frame: Frame, schedule: Schedule) -> None:
    for rank, segments in enumerate(schedule.segments):
        for kind, start, end in segments:
            if end - start > 0.06:
                frame.bar(start + 0.03, end - 0.03, rank + 0.36, rank - 0.36, _COLOURS[kind],
                          edge=FAINT if kind == "wait" else "", thick=0.8, of=kind)
        last = segments[-1]
        if schedule.stuck:
            waits = last[0] == "wait"
            note, at = ("waits …", last[1]) if waits else ("has no microbatch left", last[2])
            frame.sheet.text(frame.x(at + 0.3), frame.y(rank), note, 9.5, anchor="start")
