"""A ledger as a picture: ranks as rows, the order of communication as columns, one box for every call.

What belongs together stands in one column: the ranks' parts of one collective, a send and the receive that takes
it. A box without a partner waits. `timeline(results.ledgers)` draws it; `columns` is the arrangement alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autograder.labs.figures import BLUE, GREEN, TAUPE, VERMILLION, Picture
from autograder.labs.sheet import FAINT, Frame, Sheet, text_width
from autograder.ranks.ledger import Call

Ledgers = Sequence[Sequence[Call]]
Place = tuple[int, int]  # rank r, and which of its calls, from 0

MAX_COLUMNS = 24
_GRADIENT_ELEMENTS = 5  # smaller all_reduces carry counts and flags, in the lessons' ledgers
_COLUMN, _ROW = 66.0, 37.0  # in points
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
) -> Picture:
    """Draw the ledgers of one run (or of one that failed), at most MAX_COLUMNS steps.

    ledgers[r]: the calls of rank r in order. title: the finding; words: the same picture in a sentence. label names
    a column after its first call. The number in a box is how many elements that rank hands in. An open box is a
    call that had not ended. left: ranks that returned while others still waited.
    """
    steps = columns(ledgers)
    shown = steps[:MAX_COLUMNS]
    world_size = len(ledgers)
    returned = {rank: 1 + max((c for c, step in enumerate(shown) if any(r == rank for r, _ in step.places)), default=-1)
                for rank in left}
    count = max([len(shown), *(column + 1 for column in returned.values())])
    more = len(steps) - len(shown)
    wide = _COLUMN * (count + 0.95 + 0.6 * bool(more))
    sheet = Sheet(max(wide, 14 + text_width(title, 12, "bold")), 24 + _ROW * (world_size + 1))
    sheet.headline(title)
    frame = Frame(sheet, (0, 24, wide, _ROW * (world_size + 1)), (-1.35, count - 0.4 + 0.6 * bool(more)),
                  (world_size - 0.35, -1.35))
    _draw_ranks(frame, world_size, count, more)
    for column, step in enumerate(shown):
        _draw_step(frame, column, step, ledgers, label, colour)
    for rank, column in returned.items():
        sheet.text(frame.x(column), frame.y(rank), "returned", 9.5, face="italic")
    return Picture(sheet, words)


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


def _draw_ranks(frame: Frame, world_size: int, column_count: int, more: int) -> None:
    for rank in range(world_size):
        for column in range(-1, column_count):
            frame.line([(column + _WIDE / 2, rank), (column + 1 - _WIDE / 2, rank)], FAINT, 1)
        frame.sheet.text(frame.x(-0.7), frame.y(rank), f"rank {rank}", anchor="end")
    if more:
        frame.sheet.text(frame.x(column_count - 0.3), frame.y(-0.75), f"{more} more", 9, anchor="start")


def _draw_step(frame: Frame, column: int, step: Step, ledgers: Ledgers, label, colour) -> None:
    calls = [(rank, ledgers[rank][index]) for rank, index in step.places]
    frame.sheet.text(frame.x(column), frame.y(-0.58), label(calls[0][1]), 9, stands="bottom")
    ranks_of: dict[tuple, list[int]] = {}
    for rank, call in calls:
        if not call.point_to_point:
            ranks_of.setdefault((call.group, call.sequence), []).append(rank)
    for ranks in ranks_of.values():
        for above, below in zip(ranks, ranks[1:], strict=False):
            frame.line([(column, above + _HIGH / 2), (column, below - _HIGH / 2)], colour(calls[0][1]), 3)
    for rank in sorted({rank for rank, _ in calls}):
        own = [call for place, call in calls if place == rank]
        sent = [call for call in own if call.name != "recv"]
        text = f"{sent[0].elements:,}" if sent else ""
        _draw_box(frame, column, rank, text, colour(own[0]), done=all(call.done for call in own))
    for rank, call in calls:
        if call.name == "send" and call.peer is not None and call.peer < len(ledgers):
            _draw_arrow(frame, column, rank, call.peer)


def _draw_box(frame: Frame, column: int, rank: int, text: str, colour: str, done: bool) -> None:
    frame.bar(column - _WIDE / 2, column + _WIDE / 2, rank + _HIGH / 2, rank - _HIGH / 2, colour if done else "none",
              edge=colour, thick=1.6, dashes="" if done else "4.8 3.2", rounded=5,
              of="call" if done else "waiting call")
    note = text if done else f"{text} waits".strip()
    frame.sheet.text(frame.x(column), frame.y(rank), note, 9.5 if done else 8.5, colour="white" if done else "",
                     face="bold" if done else "")


def _draw_arrow(frame: Frame, column: int, sender: int, receiver: int) -> None:
    """From a sender's box to its receiver's; a long way (the end of the ring) is bent around the boxes between."""
    down = 1 if receiver > sender else -1
    if abs(sender - receiver) == 1:
        start, end, bend = (column, sender + 0.25 * down), (column, receiver - 0.25 * down), 0.0
    else:
        start, end, bend = (column + 0.37, sender), (column + 0.37, receiver), 0.28 * down
    frame.sheet.arrow((frame.x(start[0]), frame.y(start[1])), (frame.x(end[0]), frame.y(end[1])), bend=bend)
