"""grade(): carries frames between the judge and the ranks, and holds neither expectation nor learner's code.

The judge draws the trials; launches of ranks run the function on them; the outcomes go back to the judge, which
rules. Trials share a launch as long as it is usable; a trial that leaves ranks waiting, dead or late ends the check.
"""
from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Callable

from autograder.exercises import ASSIGNMENTS, find
from autograder.ranks import wire
from autograder.ranks.device import chosen_backend
from autograder.ranks.launch import Launch, Place, Task, pickled_function, unexplained_death
from autograder.ranks.processes import Family, StartError, start_server
from autograder.ranks.report import RankOutcome
from autograder.verdict import Verdict

PRELOAD = ("autograder.judge", *(f"autograder.exercises.{name}" for name in ASSIGNMENTS))
COURSE_SEED = "AUTOGRADER_COURSE_SEED"
_ENDS_A_CHECK = ("died", "waiting", "running", "silent")


def grade(exercise: str, fn: Callable, *, trials: str = "visible", seed: int | None = None,
          backend: str = "gloo") -> Verdict:
    """Grade `fn` as the exercise of this name.

    trials: "visible" (fixed numbers), or "all" (further layouts drawn from `seed`; without one, from the course's seed
    in AUTOGRADER_COURSE_SEED, or a fixed one). backend: "gloo", "nccl" or "auto". Never raises for a fault of the
    function: the verdict says what it is. UnknownExercise and ValueError for wrong arguments of the caller.
    """
    record = find(exercise)
    if trials not in ("visible", "all"):
        raise ValueError(f"trials={trials!r}: choose 'visible' or 'all'")
    began = time.monotonic()
    try:
        function = pickled_function(_callable(fn))
    except TypeError as error:
        return Verdict(exercise, False, 0.0, "wrong-type" if not callable(fn) else "raised", str(error))
    start_server(PRELOAD)
    with Judge() as judge:
        plan = judge.ask(do="plan", exercise=exercise, trials=trials, seed=course_seed(record.name, seed))
        sizes = [len(arguments) for arguments in plan["trials"]]
        backend = chosen_backend(backend, max(sizes)) if plan["group"] else "gloo"
        outcomes = run_trials(function, plan, max(sizes), backend)
        answer = judge.ask(do="rule", backend=backend, seconds=time.monotonic() - began,
                           outcomes=[[outcome.to_dict() for outcome in ranks] for ranks in outcomes])
    return Verdict.from_dict(answer["verdict"])


def _callable(fn: object) -> Callable:
    if not callable(fn):
        raise TypeError(f"check needs your function, not a {type(fn).__name__}. Pass its name without quotes and "
                        "without calling it.")
    return fn


def run_trials(function: bytes, plan: dict, size: int, backend: str,
               place: Place | None = None) -> list[list[RankOutcome]]:
    """The outcomes of the trials of a judge's plan, as far as they went; `place` is where the function comes from."""
    outcomes: list[list[RankOutcome]] = []
    launch: Launch | None = None
    ended: list[Launch] = []
    try:
        for arguments in plan["trials"]:
            task = Task(plan["stage"], arguments, seed=len(outcomes), timeout=plan["timeout"], group=plan["group"])
            for attempt in (1, 2):
                if launch is None or not launch.usable:
                    if launch is not None:
                        launch.close(wait=False)
                        ended.append(launch)
                    launch = Launch(function, size, backend=backend, place=place)
                ranks = launch.run(task)
                if attempt == 2 or not unexplained_death(ranks):
                    break
            outcomes.append(ranks)
            if any(outcome.end in _ENDS_A_CHECK for outcome in ranks):
                break
        return outcomes
    finally:
        for each in [*ended, *([launch] if launch is not None else [])]:
            each.close()


class Judge:
    """The judge's process, seen from outside: ask, and get an answer."""

    def __enter__(self) -> Judge:
        self._family = Family("autograder.judge:serve", 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._family.end()

    def ask(self, **order: object) -> dict:
        channel = self._family.channels[0]
        wire.send(channel, wire.encode(order))
        body = wire.receive(channel)
        if body is None:
            said = os.read(self._family.outputs[0], 1 << 16).decode("utf-8", "replace")
            raise StartError("The judge ended without an answer. This is a fault of the autograder, not yours.\n"
                             f"{said}")
        return wire.decode(body)


def course_seed(exercise: str, seed: int | None = None) -> int:
    """The seed of an exercise's hidden trials: `seed` if given, else HMAC(course seed, exercise), else a fixed one."""
    if seed is not None:
        return seed
    secret = os.environ.get(COURSE_SEED, "")
    digest = hmac.new(secret.encode(), f"hidden/{exercise}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:7], "big")
