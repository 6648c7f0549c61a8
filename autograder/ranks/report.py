"""Who waits where, who never came, who crashed: rulings on the ranks of one trial, from their ledgers.

A rank that waits in the s-th collective of a group goes on only when every member has issued its s-th. So when all
ranks that still run wait, and none waits for something that everyone has issued alike, none will ever go on.
"""
from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.ranks.ledger import Call

_ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}


@dataclass
class RankOutcome:
    """How one rank's trial ended.

    end: "returned", "raised", "died" (its process ended), "waiting" (for other ranks, in vain), "running" (at the
    deadline) or "silent" (at the deadline, and it did not answer). result: the stage's result, an encoded frame
    (of a rank that raised: what the stage had collected by then).
    activity: what changes as long as it may go on by itself: CPU time of its main thread, the clock while a thread is
    in the function's own code, which may sleep. own_group: whether its default group is still the one it was given.
    """

    rank: int
    end: str = "running"
    result: bytes | None = None
    error: dict | None = None
    exit: int | None = None
    calls: list[Call] = field(default_factory=list)
    frames: list[list] = field(default_factory=list)
    communicating: bool = False
    activity: float = 0.0
    own_group: bool = True
    output: str = ""

    @property
    def finished(self) -> bool:
        return self.end in ("returned", "raised", "died")

    @property
    def pending(self) -> list[Call]:
        return [call for call in self.calls if not call.done]

    def to_dict(self) -> dict:
        return {"rank": self.rank, "end": self.end, "result": self.result, "error": self.error, "exit": self.exit,
                "calls": [call.to_dict() for call in self.calls], "frames": self.frames,
                "communicating": self.communicating, "activity": self.activity, "own_group": self.own_group,
                "output": self.output}

    @staticmethod
    def from_dict(data: dict) -> RankOutcome:
        return RankOutcome(**{**data, "calls": [Call.from_dict(call) for call in data["calls"]]})


class _Ledgers:
    """The ledgers of a trial's ranks, each read once: there may be thousands of calls, and a question about each.

    calls[r][group]: the collectives of rank r on a group, by number; sent[r]: how many point-to-point calls of a name
    it has with a peer.
    """

    def __init__(self, outcomes: Sequence[RankOutcome]) -> None:
        self.outcomes = outcomes
        self.calls: list[dict[str, dict[int, Call]]] = []
        self.sent: list[Counter] = []
        self._ranks: dict[str, set[int]] = {}
        for outcome in outcomes:
            collectives, sent = defaultdict(dict), Counter()
            for call in outcome.calls:
                self._ranks.setdefault(call.group, set()).update(call.ranks)
                if call.point_to_point:
                    sent[call.name, call.peer] += 1
                else:
                    collectives[call.group].setdefault(call.sequence, call)
            self.calls.append(dict(collectives))
            self.sent.append(sent)

    @property
    def groups(self) -> list[str]:
        """Those with collectives."""
        return list(dict.fromkeys(group for own in self.calls for group in own))

    def members(self, group: str) -> list[int]:
        """A group's ranks: all for the default one, those that used it for one that is gone."""
        everyone = group in ("default", "default on gloo")
        return [rank for rank, own in enumerate(self.calls)
                if everyone or rank in self._ranks.get(group, ()) or any(own.get(group, ()))]

    def nth(self, rank: int, group: str, sequence: int) -> Call | None:
        return self.calls[rank].get(group, {}).get(sequence)

    def matched(self, call: Call, rank: int) -> bool:
        """Whether all that `call` of `rank` waits for has been issued, so that it may still end."""
        if call.point_to_point:
            if call.peer is None:
                return True
            if not 0 <= call.peer < len(self.outcomes):
                return False
            opposite = "recv" if call.name == "send" else "send"
            theirs = self.sent[call.peer][opposite, rank] + self.sent[call.peer][opposite, None]
            return theirs >= self.sent[rank][call.name, call.peer]
        members = self.members(call.group)
        if len(members) == 1 and len(self.outcomes) > 1:
            return False
        return all((other := self.nth(member, call.group, call.sequence)) is not None and alike(call, other)
                   for member in members)


def alike(one: Call, other: Call) -> bool:
    """Whether two ranks' entries can belong to the same collective."""
    same_size = one.elements == other.elements or one.name not in ("all_reduce", "broadcast", "reduce", "all_gather")
    return one.name == other.name and one.dtype == other.dtype and same_size


def stuck(outcomes: Sequence[RankOutcome]) -> bool:
    """Whether no unfinished rank can go on: each waits, and nothing that one waits for may still end."""
    waiting = [outcome for outcome in outcomes if not outcome.finished]
    ledgers = _Ledgers(outcomes)
    return bool(waiting) and all(
        (outcome.pending or outcome.communicating)
        and not any(ledgers.matched(call, outcome.rank) for call in outcome.pending)
        for outcome in waiting)


def clean(outcomes: Sequence[RankOutcome]) -> bool:
    """Whether the ranks left nothing behind in their group, so that it can serve another trial."""
    return mismatch(outcomes) is None and all(
        outcome.end in ("returned", "raised") and outcome.own_group and not outcome.pending for outcome in outcomes)


def mismatch(outcomes: Sequence[RankOutcome]) -> tuple[str, int] | None:
    """(group, sequence) of the first collective in which the members of a group differ; None if they agree.

    A rank that ended early and issued fewer differs, too. Sizes are compared where they must be equal.
    """
    ledgers = _Ledgers(outcomes)
    for group in ledgers.groups:
        members = ledgers.members(group)
        sequences = set().union(*(ledgers.calls[member].get(group, ()) for member in members)) - {0}
        for sequence in sorted(sequences):
            calls = [ledgers.nth(member, group, sequence) for member in members]
            if None in calls or not all(alike(calls[0], call) for call in calls):
                return group, sequence
    return None


def differing_calls(outcomes: Sequence[RankOutcome]) -> str | None:
    """One sentence on the first collective in which ranks called different things; None where they only stop early."""
    place, ledgers = mismatch(outcomes), _Ledgers(outcomes)
    if place is None or any(ledgers.nth(member, *place) is None for member in ledgers.members(place[0])):
        return None
    return describe_mismatch(outcomes, *place)


def describe_mismatch(outcomes: Sequence[RankOutcome], group: str, sequence: int) -> str:
    """One sentence: which ranks called what as their n-th collective."""
    said: dict[str, list[int]] = {}
    number, ledgers = sequence, _Ledgers(outcomes)
    for member in ledgers.members(group):
        call = ledgers.nth(member, group, sequence)
        number = _position(outcomes[member], call) if call is not None else number
        said.setdefault("nothing" if call is None else str(call), []).append(member)
    parts = [f"{ranks_words(ranks)} called {what}" for what, ranks in said.items()]
    return f"In the {ordinal(number)} collective {', '.join(parts)}."


def describe_waiting(outcomes: Sequence[RankOutcome]) -> str:
    """Who waits in which call, and which ranks never came there."""
    groups: dict[str, list[int]] = {}
    ledgers = _Ledgers(outcomes)
    for outcome in outcomes:
        if not outcome.finished:
            groups.setdefault(_place(outcome, ledgers), []).append(outcome.rank)
    sentences = [f"{ranks_words(ranks)} {'is' if len(ranks) == 1 else 'are'} {place}"
                 for place, ranks in groups.items()]
    ends: dict[str, list[int]] = {}
    for outcome in outcomes:
        if outcome.finished:
            ends.setdefault({"returned": "returned", "raised": "raised an error", "died": "crashed"}[outcome.end],
                            []).append(outcome.rank)
    sentences += [f"{ranks_words(ranks)} {end} and never came" for end, ranks in ends.items()]
    return "; ".join(sentences) + "."


def describe_last_calls(outcomes: Sequence[RankOutcome]) -> str:
    """What the ranks whose calls are known called last; "" where none did. Of a rank that died nothing is known."""
    return "; ".join(f"rank {outcome.rank} was in {call}" + (
        f", its {ordinal(_position(outcome, call))} collective" if call.sequence else "")
        for outcome in outcomes if outcome.calls and outcome.end != "died" for call in outcome.calls[-1:])


def _place(outcome: RankOutcome, ledgers: _Ledgers) -> str:
    pending = outcome.pending
    call = next((call for call in pending if not ledgers.matched(call, outcome.rank)), next(iter(pending), None))
    where = f" (line {outcome.frames[-1][1]} of {outcome.frames[-1][2]})" if outcome.frames else ""
    if call is not None:
        which = f", its {ordinal(_position(outcome, call))} collective" if call.sequence else ""
        which += f" in a group of {ranks_words(call.ranks)}" if call.ranks else ""
        return f"waiting in {call}{which}{where}"
    if outcome.end == "silent":
        return "busy and does not answer"
    return ("waiting in a call of torch.distributed" if outcome.end == "waiting" else "still running") + where


def sentence(text: str) -> str:
    """`text` with a capital first letter."""
    return text[:1].upper() + text[1:]


def _position(outcome: RankOutcome, call: Call) -> int:
    """The how-manieth collective of the learner's function on its group a call is."""
    prepared = [c.sequence for c in outcome.calls if not c.own and c.group == call.group]
    return call.sequence - max(prepared, default=_before(outcome, call.group))


def _before(outcome: RankOutcome, group: str) -> int:
    """What the group had seen before this trial."""
    return min((c.sequence for c in outcome.calls if c.group == group and c.sequence), default=1) - 1


def describe_death(outcome: RankOutcome) -> str:
    """How the process of a rank ended: by which signal, or with which exit code and without a result."""
    if outcome.exit is None:
        return f"rank {outcome.rank} closed its connection without a result"
    if outcome.exit < 0:
        try:
            name = signal.Signals(-outcome.exit).name
        except ValueError:
            name = "unknown"
        return f"rank {outcome.rank} was killed by signal {-outcome.exit} ({name})"
    return f"rank {outcome.rank} ended with exit code {outcome.exit} and without a result"


def describe_error(outcome: RankOutcome) -> str:
    """The learner's exception in one line, with the line of their own code where it arose."""
    error = outcome.error or {}
    where = f" at line {error['frames'][-1][1]} of {error['frames'][-1][2]}" if error.get("frames") else ""
    message = " ".join(str(error.get("message", "")).split())
    return f"{error.get('type', 'error')}{where}{': ' if message else ''}{message[:300]}"


def ranks_words(ranks: Sequence[int]) -> str:
    """"rank 2", "ranks 0 and 3", "ranks 0, 1 and 2"."""
    names = [str(rank) for rank in ranks]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, …, 11th, …"""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return _ORDINALS.get(number % 10, "").replace(str(number % 10), str(number)) or f"{number}th"
