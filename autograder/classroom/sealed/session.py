"""A submission's sandbox and a check's judge, seen from the grader: orders go out, checked plain data comes back."""
from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import asdict

from autograder.classroom.sealed import records
from autograder.classroom.sealed.records import require
from autograder.classroom.sealed.sandbox import Limits, Sandbox, StartFailed
from autograder.ranks import wire
from autograder.ranks.processes import Family, StartError
from autograder.ranks.report import RankOutcome

MAX_ANSWER = 192 * 2**20
JUDGE_SECONDS = 120.0
WARNING_SECONDS = 3.0
_LOOK = 0.25
_ENDS = ("returned", "raised", "died", "waiting", "running", "silent")


class Infrastructure(RuntimeError):
    """Something of ours failed: no fault of the submission."""


class Ended(RuntimeError):
    """The submission's processes are gone, or were ended. kind: "time", "memory", "processes", "output", "died"."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Judge:
    """The judge in a process of its own, with a deadline."""

    def __enter__(self) -> Judge:
        try:
            self._family = Family("autograder.judge:serve", 1)
        except StartError as error:
            raise Infrastructure(f"the judge did not start: {error}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._family.end()

    def ask(self, **order: object) -> dict:
        channel = self._family.channels[0]
        try:
            wire.send(channel, wire.encode(order))
            body = _receive(channel, time.monotonic() + JUDGE_SECONDS, wire.MAX_FRAME)
        except (OSError, Ended) as error:
            raise Infrastructure(f"the judge did not answer: {error}") from None
        return wire.decode(body)


class Session:
    """One submission in its sandbox. `ask` raises Ended, or Infrastructure when it did not even start."""

    def __init__(self, limits: Limits, *, sealed: bool = True) -> None:
        try:
            self.sandbox = Sandbox(limits, sealed=sealed)
        except (StartFailed, OSError) as error:
            raise Infrastructure(str(error)) from None
        try:
            self.ask({"do": "start", "limits": asdict(limits)}, 120.0)
        except Ended as error:
            said = self.sandbox.said()
            self.end()
            raise Infrastructure(f"the sandbox did not get ready: {error} {said}".strip()) from None
        except BaseException:
            self.end()
            raise

    def ask(self, order: dict, seconds: float) -> dict:
        channel = self.sandbox.channel
        self._deadline = time.monotonic() + seconds
        self._warned: float | None = None
        self.exceeded = ""
        try:
            channel.settimeout(max(seconds, 1.0))
            wire.send(channel, wire.encode(order))
            answer = wire.decode(_receive(channel, self._deadline + WARNING_SECONDS, MAX_ANSWER, self._look))
        except TimeoutError:
            raise Ended("time", "it took no more orders") from None
        except OSError:
            raise Ended("died", "all of its processes ended") from None
        except wire.WireError as error:
            raise Ended("output", f"it sent what is no answer ({error})") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("did"), str):
            raise Ended("output", "it sent what is no answer")
        return answer

    def _look(self) -> None:
        """Have the warden end what exceeds a limit; if that does not help soon, end everything."""
        exceeded = self.sandbox.over_limit() or ("time" if time.monotonic() > self._deadline else "")
        if exceeded and self._warned is None:
            self.exceeded = exceeded
            self._warned = time.monotonic()
            self.sandbox.warn()
        elif exceeded and time.monotonic() - self._warned > WARNING_SECONDS:
            raise Ended(exceeded, f"its processes used more {exceeded} than is allowed")

    def end(self) -> None:
        self.sandbox.end()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


_LENGTH = struct.Struct("<Q")


def _receive(channel: socket.socket, deadline: float, limit: int, look: Callable[[], None] = lambda: None) -> bytes:
    """One frame of at most `limit` bytes by the deadline; Ended otherwise. `look` is called now and then."""
    frame, length, looked = bytearray(), None, time.monotonic()
    while length is None or len(frame) < length:
        now = time.monotonic()
        if now >= deadline:
            raise Ended("time", "it did not end in time")
        if now - looked >= _LOOK:
            look()
            looked = time.monotonic()
        if not select.select([channel], [], [], min(_LOOK, deadline - now))[0]:
            continue
        piece = channel.recv(min(1 << 20, (length or _LENGTH.size) - len(frame)))
        if not piece:
            raise Ended("died", "all of its processes ended")
        frame += piece
        if length is None and len(frame) == _LENGTH.size:
            (length,) = _LENGTH.unpack(frame)
            frame.clear()
            if length > limit:
                raise Ended("output", f"it sent {length} bytes at once")
    return bytes(frame)


def checked_outcomes(answer: object, plan: dict) -> list[list[RankOutcome]]:
    """The outcomes in an answer from inside, every field of the right kind; ValueError for anything else."""
    trials = plan["trials"]
    if type(answer) is not list or not 1 <= len(answer) <= len(trials):
        raise ValueError("outcomes of another number of trials")
    return [_checked_ranks(ranks, arguments, plan["stage"]) for ranks, arguments in zip(answer, trials, strict=False)]


def _checked_ranks(ranks: object, arguments: list, stage: str) -> list[RankOutcome]:
    if type(ranks) is not list or len(ranks) != len(arguments):
        raise ValueError("outcomes of another number of ranks")
    return [_checked_outcome(rank, data, wire.decode(arguments[rank]), stage) for rank, data in enumerate(ranks)]


def _checked_outcome(rank: int, data: object, arguments: tuple, stage: str) -> RankOutcome:
    require(type(data) is dict and set(data) == {field.name for field in RankOutcome.__dataclass_fields__.values()},
             "an outcome with other fields")
    require(data["rank"] == rank and type(data["rank"]) is int and data["end"] in _ENDS, "an outcome of another rank")
    for name, kinds in (("exit", (int, type(None))), ("communicating", (bool,)), ("activity", (float, int)),
                        ("own_group", (bool,)), ("output", (str,)), ("calls", (list,)), ("frames", (list,)),
                        ("error", (dict, type(None))), ("result", (bytes, type(None)))):
        require(type(data[name]) in kinds, f"{name} is a {type(data[name]).__name__}")
    require(len(data["output"]) <= 2**16 and len(data["calls"]) <= 10_000 and len(data["frames"]) <= 200, "too much")
    require(data["result"] is not None or data["end"] != "returned", "a return without a result")
    require((data["end"] == "raised") == (data["error"] is not None), "an end without what belongs to it")
    require(all(map(_is_frame, data["frames"])), "a frame that is none")
    if data["error"] is not None:
        _check_error(data["error"])
    if data["result"] is not None:
        result = wire.decode(data["result"])  # WireError is a ValueError
        records.check(stage, result, arguments, whole=data["end"] == "returned")
    calls = [records.checked_call(call) for call in data["calls"]]
    return RankOutcome(**{**data, "calls": calls})


def _is_frame(frame: object) -> bool:
    return type(frame) is list and [type(part) for part in frame] == [str, int, str]


def _check_error(error: dict) -> None:
    require({"type", "bases", "message", "frames", "in_torch"} <= set(error), "an error with other fields")
    require(type(error["type"]) is str and type(error["message"]) is str and type(error["in_torch"]) is bool
             and len(error["type"]) <= 500 and len(error["message"]) <= 8000, "an error that is none")
    require(type(error["bases"]) is list and len(error["bases"]) <= 100
             and all(type(base) is str for base in error["bases"]), "bases that are none")
    require(type(error["frames"]) is list and len(error["frames"]) <= 100 and all(map(_is_frame, error["frames"])),
             "frames that are none")
