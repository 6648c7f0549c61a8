"""The labs and the pictures of lesson 5: three dials on a window, and the time that synchronising takes.

`lab()` turns divisor × microbatches × ranks on a window that one can edit; `timeline_lab()` shows forward, backward
and synchronisation with and without `no_sync`. `table()` and `timeline_table()` are the same without a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from types import MappingProxyType

import ipywidgets as widgets
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from autograder.dials import Explanation, Setting, diagnosis_key, explain_weights, predict_weights
from autograder.labs import figures
from autograder.labs.blocks import Block, draw_blocks, multiple
from autograder.labs.figures import BLUE, FAINT, GREY, INK, TAUPE, VERMILLION, Picture
from autograder.window import UpdateWindow

DIVISORS = ("nothing", "microbatch", "rank", "window")
COMBINATIONS = ("sum", "mean")
MAX_RANKS, MAX_MICROBATCHES, MAX_COUNT = 4, 5, 40
HOW_TO_WRITE = (
    "Write the items of each microbatch, ranks separated by “/”: 1 4 0 / 2 3 5. "
    f"At most {MAX_RANKS} ranks, {MAX_MICROBATCHES} microbatches, {MAX_COUNT} items in each; at least one item in all."
)


# ---- three dials


@dataclass(frozen=True)
class State:
    """counts[r][k] = n_rk, and the three dials."""

    counts: tuple[tuple[int, ...], ...]
    divisor: str = "microbatch"
    microbatches: str = "mean"
    ranks: str = "mean"

    @property
    def setting(self) -> Setting:
        return Setting(self.divisor, self.microbatches, self.ranks)

    @cached_property
    def window(self) -> UpdateWindow:
        return UpdateWindow.from_counts(self.counts)

    def block_weights(self, setting: Setting | None = None) -> list[float]:
        """What one item of every microbatch weighs under these dials; 0 where there is no item."""
        weights = predict_weights(setting or self.setting, self.window)
        return block_weights(weights, self.counts)

    @cached_property
    def explanation(self) -> Explanation:
        """The reading of these weights that names the dials as they stand, or the best there is."""
        found = explain_weights(predict_weights(self.setting, self.window), self.window)
        return next((e for e in found if e.setting == self.setting), found[0])

    @cached_property
    def effects(self) -> dict[Setting, float | None]:
        """What every setting does here: the factor on all weights, or None when it changes the direction."""
        settings = [Setting(*dials) for dials in product(DIVISORS, COMBINATIONS, COMBINATIONS)]
        return {setting: _common_factor(self.window, setting) for setting in settings}

    @property
    def finding(self) -> str:
        """What this state shows, in one line."""
        factor = self.effects[self.setting]
        hidden = sum(f is not None and abs(f - 1) < 1e-9 for f in self.effects.values())
        right = self.setting == Setting()
        if factor is None:
            shares = [w * self.window.item_count for w, n in zip(
                self.block_weights(), (n for row in self.counts for n in row), strict=True) if n]
            return f"Items weigh between {min(shares):.3g}/N and {max(shares):.3g}/N: another direction"
        if abs(factor - 1) < 1e-9:
            also = f"; in this window {hidden - 1} other settings look right, too" if hidden > 1 else ""
            return f"Every item weighs 1/N{'' if right else ', here'}{also}"
        return f"Every item weighs {factor:.3g}/N: right direction, wrong scale"


def block_weights(weights: Tensor, counts: Sequence[Sequence[int]]) -> list[float]:
    """weights [N] in item order -> the weight of one item of every microbatch; 0 where there is no item."""
    parts = weights.split([n for row in counts for n in row])
    return [float(part.mean()) if len(part) else 0.0 for part in parts]


def window_blocks(counts: Sequence[Sequence[int]]) -> list[Block]:
    """The microbatches of counts[r][k], named by their items."""
    return [Block(r, n, str(n)) for r, row in enumerate(counts) for n in row]


def _common_factor(window: UpdateWindow, setting: Setting) -> float | None:
    shares = predict_weights(setting, window) * window.item_count
    return float(shares[0]) if float((shares - shares[0]).abs().max()) <= 1e-9 * float(shares[0]) else None


WINDOWS: Mapping[str, tuple[tuple[int, ...], ...]] = MappingProxyType(
    {
        "tells everything apart": ((1, 4, 0), (2, 3, 5)),
        "much like the lesson's": ((11, 30, 16), (13, 5)),
        "equal counts": ((4, 4), (4, 4)),
        "equal ranks": ((1, 7), (2, 6)),
        "one rank": ((1, 7, 4),),
        "one microbatch": ((3,), (9,)),
        "an empty rank": ((2, 6), (0, 0)),
        "unequal K": ((3, 3, 3, 3), (3,)),
    }
)


def table(windows: Mapping[str, tuple[tuple[int, ...], ...]] = WINDOWS) -> str:
    """Return what the plain settings do in these windows as a Markdown table, the lab without a kernel."""
    settings = list(State(next(iter(windows.values()))).effects)
    rows = [["divisor, microbatches, ranks", *windows]]
    rows.append(["---"] * len(rows[0]))
    rows.append(["*counts*", *(_written(counts) for counts in windows.values())])
    effects = [State(counts).effects for counts in windows.values()]
    for setting in settings:
        rows.append([str(setting), *(_effect(found[setting], "direction") for found in effects)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _effect(factor: float | None, other: str) -> str:
    if factor is None:
        return other
    return "✓" if abs(factor - 1) < 1e-9 else f"×{figures.fraction(factor, 100)}"


def _written(counts: Sequence[Sequence[int]]) -> str:
    return " / ".join(" ".join(map(str, row)) for row in counts)


def parsed(text: str) -> tuple[tuple[int, ...], ...]:
    """The window that "1 4 0 / 2 3 5" means; ValueError with how to write one."""
    rows = [re.split(r"[\s,]+", row.strip()) for row in text.split("/")]
    if not all(re.fullmatch(r"\d{1,3}", entry) for row in rows for entry in row):
        raise ValueError(HOW_TO_WRITE)
    counts = tuple(tuple(map(int, row)) for row in rows)
    small = len(counts) <= MAX_RANKS and all(len(row) <= MAX_MICROBATCHES for row in counts)
    if not small or max(max(row) for row in counts) > MAX_COUNT or not any(map(any, counts)):
        raise ValueError(HOW_TO_WRITE)
    return counts


def lab(state: State = State(WINDOWS["tells everything apart"])) -> AccumulationLab:
    """Return the lab of the three dials, set to `state`; the last line of a cell shows it."""
    return AccumulationLab(state)


class AccumulationLab(widgets.VBox):
    """A window to edit, three dials, what every item weighs, and what every other setting would do."""

    def __init__(self, state: State) -> None:
        self._drawing = _DialsDrawing()
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *WINDOWS], description="window")
        self._counts = widgets.Text(description="counts", continuous_update=False)
        self._dials = {
            name: widgets.ToggleButtons(options=options, style={"button_width": "8em"}, layout={"width": "auto"})
            for name, options in (("divisor", DIVISORS), ("microbatches", COMBINATIONS), ("ranks", COMBINATIONS))
        }
        self._view = widgets.HTML()
        rows = [widgets.HBox([widgets.Label(name, layout={"width": "7.5em"}), dial])
                for name, dial in self._dials.items()]
        super().__init__([widgets.HBox([self._presets, self._counts]), *rows, self._view])
        self.state = state
        self._presets.observe(self._take_preset, "value")
        for control in (self._counts, *self._dials.values()):
            control.observe(self._changed, "value")

    @property
    def state(self) -> State:
        """What the controls say; ValueError when the window is not one."""
        return State(parsed(self._counts.value), *(dial.value for dial in self._dials.values()))

    @state.setter
    def state(self, state: State) -> None:
        self._setting = True
        try:
            self._counts.value = _written(state.counts)
            for name, dial in self._dials.items():
                dial.value = getattr(state, name)
            self._presets.value = next((n for n, known in WINDOWS.items() if known == state.counts), "your own")
        finally:
            self._setting = False
        self._view.value = self._drawing.picture(state)._repr_html_()

    def _take_preset(self, change: dict) -> None:
        if not self._setting and change["new"] in WINDOWS:
            self.state = State(WINDOWS[change["new"]], *(dial.value for dial in self._dials.values()))

    def _changed(self, _: dict) -> None:
        if self._setting:
            return
        try:
            self.state = self.state
        except ValueError as error:
            self._view.value = f"<p><b>{error}</b></p>"


class _DialsDrawing:
    """Left the weights, right what each of the sixteen settings does in this window."""

    _PLACES = {setting: (column, row) for row, divisor in enumerate(DIVISORS)
               for column, setting in enumerate(Setting(divisor, *pair) for pair in product(COMBINATIONS, repeat=2))}

    def __init__(self) -> None:
        with figures.style():
            self._figure = figures.new_figure(9.6, 3.5)
            self._weights = self._figure.add_axes((0.05, 0.17, 0.47, 0.62))
            self._map = self._figure.add_axes((0.66, 0.17, 0.33, 0.62))
            self._prepare_map()

    def picture(self, state: State) -> Picture:
        """Move the artists to `state`; return the figure with the same content in words."""
        weights = state.block_weights()
        blocks = window_blocks(state.counts)
        top = 1.2 * max(1.0, *(w * state.window.item_count for w in weights))
        with figures.style():
            figures.headline(self._figure, state.finding)
            self._weights.clear()
            draw_blocks(self._weights, blocks, weights, top)
            self._weights.set_title(f"weight of an item · N, N = {state.window.item_count}; below: items")
            self._show_map(state)
        key = diagnosis_key(state.setting, state.window)
        by_rank = iter(multiple(w * state.window.item_count) if b.items else "–"
                       for w, b in zip(weights, blocks, strict=True))
        shares = " / ".join(" ".join(next(by_rank) for _ in row) for row in state.counts)
        sentence = " ".join(state.explanation.sentence.splitlines())
        words = f"{state.finding}. Weight · N of the microbatches {_written(state.counts)}: {shares}. {sentence}"
        factor = state.effects[state.setting]
        if key and factor is not None and abs(factor - 1) < 1e-9:
            return Picture(self._figure, f"{words} This window cannot show it; in another it is {key}.")
        return Picture(self._figure, words + (f" A check calls this {key}." if key else ""))

    def _prepare_map(self) -> None:
        axes = self._map
        axes.set_title("what each setting does in this window")
        axes.set_xlim(-0.52, 3.52)
        axes.set_ylim(3.52, -0.52)
        axes.set_xticks(range(4), [f"{micro}\n{rank}" for micro, rank in product(COMBINATIONS, repeat=2)], fontsize=9)
        axes.set_yticks(range(4), [f"by {divisor}" for divisor in DIVISORS])
        axes.set_xlabel("microbatches, ranks", fontsize=9.5)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        self._cells, self._notes = {}, {}
        for setting, (x, y) in self._PLACES.items():
            self._cells[setting] = Rectangle((x - 0.44, y - 0.4), 0.88, 0.8)
            axes.add_patch(self._cells[setting])
            self._notes[setting] = axes.text(x, y, "", ha="center", va="center", fontsize=9.5, color="white")

    def _show_map(self, state: State) -> None:
        for setting, factor in state.effects.items():
            colour = VERMILLION if factor is None else BLUE if abs(factor - 1) < 1e-9 else TAUPE
            cell, current = self._cells[setting], setting == state.setting
            cell.set_facecolor(colour)
            cell.set_edgecolor(INK if current else "none")
            cell.set_linewidth(2.6 if current else 0)
            self._notes[setting].set_text(_effect(factor, "other\ndirection"))
            self._notes[setting].set_fontsize(8 if factor is None else 10)


# ---- what accumulating holds in memory


class SavedBytes:
    """Meters the bytes that autograd keeps for backward passes: `with SavedBytes() as saved: …; saved.peak`."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._hooks = saved_tensors_hooks(self._keep, lambda kept: kept.tensor)

    def __enter__(self) -> SavedBytes:
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.__exit__(*error)

    def _keep(self, tensor: Tensor) -> _Kept:
        self.now += tensor.nbytes
        self.peak = max(self.peak, self.now)
        return _Kept(self, tensor)


class _Kept:
    """A saved tensor; autograd drops it when the backward pass no longer needs it."""

    def __init__(self, meter: SavedBytes, tensor: Tensor) -> None:
        self.meter, self.tensor = meter, tensor

    def __del__(self) -> None:
        self.meter.now -= self.tensor.nbytes


# ---- the time line

FORWARD, BACKWARD = 1.0, 2.0  # of a microbatch, in units of one forward pass
_KINDS = {"forward": (GREY, "forward"), "backward": (BLUE, "backward"), "synchronise": (VERMILLION, "synchronise"),
          "wait": ("none", "wait")}


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


def timeline_table(timings: Mapping[str, Timing] = TIMINGS) -> str:
    """Return the timings as a Markdown table."""
    rows = [["state", "K by rank", "one synchronisation takes", "time, every backward", "time, `no_sync`",
             "synchronisations"], ["---"] * 6]
    for name, timing in timings.items():
        every = "for ever" if timing.every.stuck else f"{timing.every.end:.4g}"
        number = f"{'–' if timing.every.stuck else timing.every.syncs} → {timing.once.syncs}"
        rows.append([name, ", ".join(map(str, timing.microbatches)), f"{timing.sync:.4g}", every,
                     f"{timing.once.end:.4g}", number])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def timeline_lab(timing: Timing = TIMINGS["four microbatches"]) -> TimelineLab:
    """Return the lab of the time line, set to `timing`; the last line of a cell shows it."""
    return TimelineLab(timing)


class TimelineLab(widgets.VBox):
    """Sliders for K, the cost of a synchronisation and the pace of rank 1; both ways one above the other."""

    def __init__(self, timing: Timing) -> None:
        self._drawing = _TimelineDrawing()
        self._setting = False
        self._presets = widgets.Dropdown(options=["your own", *TIMINGS], description="start from")
        self._microbatches = [widgets.IntSlider(min=1, max=6, description=f"K of rank {r}") for r in range(2)]
        self._sync = widgets.FloatSlider(min=0, max=8, step=0.5, description="sync takes")
        self._slow = widgets.FloatSlider(min=1, max=3, step=0.1, description="rank 1 ×")
        self._view = widgets.HTML()
        super().__init__([self._presets, widgets.HBox(self._microbatches), widgets.HBox([self._sync, self._slow]),
                          self._view])
        self.timing = timing
        self._presets.observe(self._take_preset, "value")
        for slider in (*self._microbatches, self._sync, self._slow):
            slider.observe(self._slider_moved, "value")

    @property
    def timing(self) -> Timing:
        """What the sliders say."""
        return Timing(tuple(s.value for s in self._microbatches), self._sync.value, (1.0, self._slow.value))

    @timing.setter
    def timing(self, timing: Timing) -> None:
        self._setting = True
        try:
            for slider, K in zip(self._microbatches, timing.microbatches, strict=True):
                slider.value = K
            self._sync.value, self._slow.value = timing.sync, timing.slowness[1]
            self._presets.value = next((name for name, known in TIMINGS.items() if known == timing), "your own")
        finally:
            self._setting = False
        self._view.value = self._drawing.picture(timing)._repr_html_()

    def _take_preset(self, change: dict) -> None:
        if not self._setting and change["new"] in TIMINGS:
            self.timing = TIMINGS[change["new"]]

    def _slider_moved(self, _: dict) -> None:
        if not self._setting:
            self.timing = self.timing


class _TimelineDrawing:
    def __init__(self) -> None:
        with figures.style():
            self._figure = figures.new_figure(9.6, 3.7)
            self._axes = [self._figure.add_axes((0.07, bottom, 0.91, 0.26)) for bottom in (0.56, 0.19)]
            handles = [Rectangle((0, 0), 1, 1, facecolor=colour, edgecolor=FAINT if kind == "wait" else colour)
                       for kind, (colour, _) in _KINDS.items()]
            self._figure.legend(handles, [name for _, name in _KINDS.values()], loc="lower left", ncols=4,
                                bbox_to_anchor=(0.05, -0.03), fontsize=9.5)

    def picture(self, timing: Timing) -> Picture:
        """Draw `timing` both ways; return the figure with the same content in words."""
        schedules = {"synchronise in every backward": timing.every, "all but the last under no_sync": timing.once}
        reach = max(schedule.end for schedule in schedules.values())
        parts = []
        with figures.style():
            figures.headline(self._figure, timing.finding)
            for axes, (name, schedule) in zip(self._axes, schedules.items(), strict=True):
                axes.clear()
                _draw_schedule(axes, schedule, reach)
                result = "waits for ever" if schedule.stuck else f"done after {schedule.end:.4g}"
                axes.set_title(f"{name}: {result}")
                number = f"{schedule.syncs} synchronisation{'s' if schedule.syncs != 1 else ''}"
                parts.append(f"{name}: {number}, {result}")
            self._axes[0].tick_params(labelbottom=False)
            self._axes[1].set_xlabel("time (forward passes of one microbatch)", loc="right")
        return Picture(self._figure, f"{timing.finding}. {'; '.join(parts)}.")


def _draw_schedule(axes: Axes, schedule: Schedule, reach: float) -> None:
    for rank, segments in enumerate(schedule.segments):
        for kind, start, end in segments:
            colour = _KINDS[kind][0]
            edge = FAINT if kind == "wait" else "none"
            axes.add_patch(Rectangle((start + 0.03, rank - 0.36), max(end - start - 0.06, 0.0), 0.72, facecolor=colour,
                                     edgecolor=edge, linewidth=0.8))
        last = segments[-1]
        if schedule.stuck and last[0] == "wait":
            axes.text(last[1] + 0.3, rank, "waits …", va="center", fontsize=9.5)
        elif schedule.stuck:
            axes.text(last[2] + 0.3, rank, "has no microbatch left", va="center", fontsize=9.5)
    axes.set_xlim(0, 1.02 * reach)
    axes.set_ylim(len(schedule.segments) - 0.5, -0.5)
    axes.set_yticks(range(len(schedule.segments)), [f"rank {r}" for r in range(len(schedule.segments))])
    axes.tick_params(axis="y", length=0)


