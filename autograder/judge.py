"""The judge: draws the trials of an exercise, rules on what came back, and says why.

It runs in a process of its own (`serve`), forked from the fork server or started on the grader's host, and takes and
gives frames only. No learner's code ever runs in it, so nothing a learner changes can bend a ruling.
"""
from __future__ import annotations

import math
import socket
import time
from collections.abc import Sequence

import torch

from autograder import diagnosis
from autograder.diagnosis import Finding, Reason
from autograder.exercises import find
from autograder.exercises.record import Exercise, Raises, Trial, counts_words, drawn_trials
from autograder.exercises.rules import rule_on
from autograder.ranks import wire
from autograder.ranks.report import RankOutcome
from autograder.verdict import ItemWeight, Verdict, plain_text

_MAX_ITEM_BARS = 64
_MAX_OUTPUT = 2**16  # characters of each rank


def serve(channel: socket.socket, _number: int = 0) -> None:
    """Answer orders on `channel` until it closes: "plan" gives the trials' arguments, "rule" the verdict."""
    torch.set_num_threads(1)
    hearing: Hearing | None = None
    while (body := wire.receive(channel)) is not None:
        order = wire.decode(body)
        if order["do"] == "plan":
            hearing = Hearing(order["exercise"], order["trials"], order["seed"])
            answer = hearing.plan()
        else:
            answer = {"verdict": hearing.rule(order["outcomes"], order["backend"], order["seconds"]).to_dict()}
        wire.send(channel, wire.encode(wire.portable(answer)))


class Hearing:
    """One check: an exercise, its trials, and the ruling on their outcomes."""

    def __init__(self, exercise: str, trials: str, seed: int) -> None:
        self.exercise = find(exercise)
        self.seed = seed
        self.trials = drawn_trials(self.exercise, trials, seed)

    def plan(self) -> dict:
        """What the ranks need: stage, deadline, and the encoded arguments of each rank in each trial."""
        return {"stage": self.exercise.stage, "group": self.exercise.ranks, "timeout": self.exercise.timeout,
                "trials": [[wire.encode(arguments) for arguments in trial.arguments] for trial in self.trials]}

    def rule(self, outcomes: Sequence[Sequence[dict]], backend: str, seconds: float) -> Verdict:
        """The verdict on the outcomes of the first trials (a check may end early); plain data in, plain data out."""
        began = time.monotonic()
        rule = self.exercise.rule or rule_on
        heard = [[RankOutcome.from_dict(outcome) for outcome in ranks] for ranks in outcomes]
        findings = []
        for number, (trial, ranks) in enumerate(zip(self.trials, heard, strict=False)):
            reasons = rule(trial, ranks)
            if reasons:
                findings.append(Finding(number, tuple(reasons), trial.special or isinstance(trial.expected, Raises)))
        common = {"exercise": self.exercise.name, "backend": backend if self.exercise.ranks else "none",
                  "trials": len(heard)}
        if not findings and len(heard) == len(self.trials):
            return Verdict(**common, passed=True, credit=1.0, diagnosis=None, seconds=seconds,
                           message=_praise(self.exercise, self.trials))
        finding, reason = diagnosis.choose(findings)
        trial, ranks = self.trials[finding.trial], heard[finding.trial]
        return Verdict(
            **common, passed=False, credit=0.0, diagnosis=reason.key,
            message=plain_text("\n".join([*reason.sentence.splitlines(),
                                          *self._where_it_agrees(findings, reason, len(heard))][:5])),
            seconds=seconds + time.monotonic() - began,
            trial={"name": trial.name, "counts": list(trial.counts), **trial.facts,
                   "world_size": trial.world_size if self.exercise.ranks else max(1, len(trial.counts))},
            items=_items(reason),
            output=tuple((o.rank, plain_text(o.output, _MAX_OUTPUT)) for o in ranks if o.output.strip()))

    def _where_it_agrees(self, findings: Sequence[Finding], reason: Reason, heard: int) -> list[str]:
        """For wrong weights: whether the trials that came out right are those with equal counts, and only those."""
        if reason.key not in diagnosis.NAMED_WEIGHTS:
            return []
        failing = {finding.trial for finding in findings
                   if any(other.key in diagnosis.FALLBACKS for other in finding.reasons)}
        equal = {n for n, trial in enumerate(self.trials[:heard])
                 if trial.world_size > 1 and trial.counts and len(set(map(str, trial.counts))) == 1}
        uneven = {n for n, trial in enumerate(self.trials[:heard]) if trial.world_size > 1 and trial.counts} - equal
        if equal and uneven and failing == uneven:
            return ["It agrees when all ranks hold equally many items, and only then."]
        return []


def _items(reason: Reason) -> tuple[ItemWeight, ...]:
    """What each item weighed by this reason, items of one microbatch that weigh the same taken together; nothing where
    that is no number (JSON has no word for it)."""
    window = reason.window
    if window is None or not all(map(math.isfinite, reason.weights)):
        return ()
    groups: dict[tuple, int] = {}
    microbatches = window.item_microbatches.tolist()
    for rank, micro, got, due in zip(window.item_ranks.tolist(), microbatches, reason.weights,
                                     window.expected_weights.tolist(), strict=True):
        key = (rank, micro, round(got, 12), round(due, 12))
        groups[key] = groups.get(key, 0) + 1
    several = len(set(microbatches)) > 1
    return tuple(ItemWeight(f"rank {rank}, microbatch {micro}" if several else f"rank {rank}", rank, count, got, due)
                 for (rank, micro, got, due), count in list(groups.items())[:_MAX_ITEM_BARS])


def _praise(exercise: Exercise, trials: Sequence[Trial]) -> str:
    sizes = sorted({trial.world_size for trial in trials})
    on = f" on {counts_words(sizes)} ranks" if exercise.ranks else ""
    return f"Right in {'the one trial' if len(trials) == 1 else f'all {len(trials)} trials'}{on}."
