"""A ledger as a picture: ranks as rows, the order of communication as columns, one box for every call.

What belongs together stands in one column: the ranks' parts of one collective, a send and the receive that takes
it. A box without a partner waits. `timeline(results.ledgers)` draws it; `columns` is the arrangement alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from autograder.labs import figures
from autograder.labs.figures import BLUE, FAINT, GREEN, INK, TAUPE, VERMILLION
from autograder.ranks.ledger import Call

Ledgers = Sequence[Sequence[Call]]
Place = tuple[int, int]  # rank r, and which of its calls, from 0

MAX_COLUMNS = 24
_GRADIENT_ELEMENTS = 5  # smaller all_reduces carry counts and flags, in the lessons' ledgers
_COLUMN_INCHES, _ROW_INCHES = 0.92, 0.52
_LETTER_INCHES = 0.105  # of a title
_WIDE, _HIGH = 0.74, 0.5  # a box, in columns and rows


@dataclass(frozen=True)
class Step:
    """What stands in one column: places of calls that end together, or that nobody orders."""

    places: tuple[Place, ...]


def columns(ledgers: Ledgers) -> list[Step]:
    """The steps of these ledgers in an order that every rank agrees with.

    Calls of the same collective share a step. So do a send and the receive that it meets, and a rank's send with a
    receive issued right after it, as in a ring. Where that would turn in a circle, only collectives are joined.
    """
    for matching in (_exchanges, _messages, _collectives):
        steps = _in_order(ledgers, matching(ledgers))
        if steps is not None:
            return steps
    raise ValueError("these ledgers come from no run: the ranks order the same collectives differently")


def plain_label(call: Call) -> str:
    """What a column is called unless the caller knows better: the operation, in two short lines."""
    if call.point_to_point:
        return "send and\nreceive"
    return call.name.strip("_").replace("_", "\n", 1)


def plain_colour(call: Call) -> str:
    """Blue: sums with gradients or data in them; green: small ones; purple: copies of one rank's values."""
    if call.point_to_point:
        return VERMILLION
    if "reduce" in call.name:
        return BLUE if call.elements >= _GRADIENT_ELEMENTS else GREEN
    return TAUPE


def timeline(
    ledgers: Ledgers,
    title: str,
    words: str,
    *,
    label: Callable[[Call], str] = plain_label,
    colour: Callable[[Call], str] = plain_colour,
    left: Sequence[int] = (),
) -> figures.Picture:
    """Draw the ledgers of one run (or of one that failed), at most MAX_COLUMNS steps.

    ledgers[r]: the calls of rank r in order. title: the finding; words: the same picture in a sentence. label names
    a column after its first call. The number in a box is how many elements that rank hands in. An open box is a
    call that had not ended. left: ranks that returned while others still waited.
    """
    steps = columns(ledgers)
    shown = steps[:MAX_COLUMNS]
    world_size = len(ledgers)
    with figures.style():
        height = 1.25 + _ROW_INCHES * world_size
        wide = 1.3 + _COLUMN_INCHES * (len(shown) + bool(left))
        figure = figures.new_figure(max(wide, 0.4 + _LETTER_INCHES * len(title)), height)
        axes = figure.add_axes((0.0, 0.0, wide / figure.get_figwidth(), 1.0 - 0.34 / height))
        _frame(axes, world_size, len(shown) + bool(left), more=len(steps) - len(shown))
        for column, step in enumerate(shown):
            _draw_step(axes, column, step, ledgers, label, colour)
        for rank in left:
            last = max((c for c, step in enumerate(shown) if any(r == rank for r, _ in step.places)), default=-1)
            axes.text(last + 1, rank, "returned", ha="center", va="center", fontsize=9.5, style="italic")
        figure.suptitle(title, x=0.01, y=1.0 - 0.08 / height, va="top", ha="left", fontsize=12, fontweight="bold")
    return figures.Picture(figure, words)


# ---- arrangement


def _collectives(ledgers: Ledgers) -> list[list[Place]]:
    """The places of each collective, over all ranks that issued it."""
    together: dict[tuple, list[Place]] = {}
    for rank, calls in enumerate(ledgers):
        for index, call in enumerate(calls):
            if not call.point_to_point:
                together.setdefault((call.group, call.sequence), []).append((rank, index))
    return list(together.values())


def _messages(ledgers: Ledgers) -> list[list[Place]]:
    """Collectives, and each send with the receive that takes it: the i-th from a to b meets the i-th at b from a."""
    ends: dict[tuple, list[Place]] = {}
    for rank, calls in enumerate(ledgers):
        seen: dict[tuple, int] = {}
        for index, call in enumerate(calls):
            if call.point_to_point and call.peer is not None:
                pair = (rank, call.peer) if call.name == "send" else (call.peer, rank)
                number = seen[(call.name, *pair)] = seen.get((call.name, *pair), 0) + 1
                ends.setdefault((*pair, number), []).append((rank, index))
    return [*_collectives(ledgers), *ends.values()]


def _exchanges(ledgers: Ledgers) -> list[list[Place]]:
    """Messages, and each send with a receive of the same rank issued right after it."""
    pairs = [
        [(rank, index), (rank, index + 1)]
        for rank, calls in enumerate(ledgers)
        for index, (call, following) in enumerate(zip(calls, calls[1:], strict=False))
        if call.name == "send" and following.name == "recv"
    ]
    return [*_messages(ledgers), *pairs]


def _in_order(ledgers: Ledgers, together: list[list[Place]]) -> list[Step] | None:
    """Steps made of the groups `together`, each rank's order kept; None when no such order exists."""
    home = {(r, i): (r, i) for r, calls in enumerate(ledgers) for i in range(len(calls))}

    def find(place: Place) -> Place:
        while home[place] != place:
            place = home[place]
        return place

    for group in together:
        for place in group[1:]:
            home[find(place)] = find(group[0])
    members: dict[Place, list[Place]] = {}
    for place in home:
        members.setdefault(find(place), []).append(place)
    before = {
        root: {find((r, i - 1)) for r, i in places if i > 0 and not _joined(places, r, i, ledgers)}
        for root, places in members.items()
    }
    steps: list[Step] = []
    while before:
        ready = [root for root, earlier in before.items() if not earlier & before.keys()]
        if not ready:
            return None
        beside: dict[str, list[Place]] = {}  # what need not wait for each other and is alike shares a column
        for root in sorted(ready):
            rank, index = members[root][0]
            beside.setdefault(ledgers[rank][index].name, []).extend(members[root])
        steps += [Step(tuple(sorted(places))) for places in beside.values()]
        for root in ready:
            del before[root]
    return steps


def _joined(places: list[Place], rank: int, index: int, ledgers: Ledgers) -> bool:
    """Whether a rank's call and the one before it may share a step: a send, then a receive."""
    calls = ledgers[rank]
    return (rank, index - 1) in places and (calls[index - 1].name, calls[index].name) == ("send", "recv")


# ---- drawing


def _frame(axes: Axes, world_size: int, column_count: int, more: int) -> None:
    axes.set_xlim(-1.35, column_count - 0.4 + 0.6 * bool(more))
    axes.set_ylim(world_size - 0.35, -1.35)
    axes.axis("off")
    for rank in range(world_size):
        for column in range(-1, column_count):
            axes.plot([column + _WIDE / 2, column + 1 - _WIDE / 2], [rank, rank], color=FAINT, linewidth=1, zorder=0)
        axes.text(-0.7, rank, f"rank {rank}", ha="right", va="center")
    if more:
        axes.text(column_count - 0.3, -0.75, f"{more} more", ha="left", va="center", fontsize=9)


def _draw_step(axes: Axes, column: int, step: Step, ledgers: Ledgers, label, colour) -> None:
    calls = [(rank, ledgers[rank][index]) for rank, index in step.places]
    axes.text(column, -0.62, label(calls[0][1]), ha="center", va="bottom", fontsize=9, linespacing=1.05)
    ranks_of: dict[tuple, list[int]] = {}
    for rank, call in calls:
        if call.point_to_point:
            if call.name == "send" and call.peer is not None and call.peer < len(ledgers):
                _arrow(axes, column, rank, call.peer)
        else:
            ranks_of.setdefault((call.group, call.sequence), []).append(rank)
    for ranks in ranks_of.values():
        for above, below in zip(ranks, ranks[1:], strict=False):
            axes.plot([column, column], [above + _HIGH / 2, below - _HIGH / 2], color=colour(calls[0][1]),
                      linewidth=3, zorder=1)
    for rank in sorted({rank for rank, _ in calls}):
        own = [call for place, call in calls if place == rank]
        sent = [call for call in own if call.name != "recv"]
        text = f"{sent[0].elements:,}" if sent else ""
        _box(axes, column, rank, text, colour(own[0]), done=all(call.done for call in own))


def _box(axes: Axes, column: int, rank: int, text: str, colour: str, done: bool) -> None:
    axes.add_patch(FancyBboxPatch(
        (column - _WIDE / 2, rank - _HIGH / 2), _WIDE, _HIGH, boxstyle="round,pad=0,rounding_size=0.1",
        facecolor=colour if done else "none", edgecolor=colour, linewidth=1.6,
        linestyle="-" if done else (0, (3, 2)), zorder=2))
    note = text if done else f"{text} waits".strip()
    axes.text(column, rank, note, ha="center", va="center", fontsize=9.5 if done else 8.5,
              color="white" if done else INK, fontweight="bold" if done else "normal", zorder=3)


def _arrow(axes: Axes, column: int, sender: int, receiver: int) -> None:
    """From a sender's box to its receiver's; a long way (the end of the ring) is bent around the boxes between."""
    near = abs(sender - receiver) == 1
    down = 1 if receiver > sender else -1
    if near:
        start, end, bend = (column, sender + 0.25 * down), (column, receiver - 0.25 * down), 0.0
    else:
        start, end, bend = (column + 0.37, sender), (column + 0.37, receiver), 0.28
    axes.annotate("", end, start, zorder=4, arrowprops={
        "arrowstyle": "-|>", "color": INK, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0,
        "connectionstyle": f"arc3,rad={bend}"})
