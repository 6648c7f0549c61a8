"""The keys of all reasons, their order of precedence, and the choice of one reason for a whole check.

A finding is what one trial shows. Tiers say what is told first: a step that never ends before a wrong value, a
named wrong weight before a NaN that it produces, an edge case that lacks its error last.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

NAMED_WEIGHTS = (
    "mean-of-rank-means", "sum-of-rank-means", "global-divisor-then-mean", "never-divided", "divided-by-world-size",
    "mean-of-microbatch-means", "sum-of-microbatch-means", "local-window-count", "microbatch-count", "divided-twice",
    "full-window-divisor-on-partial-window", "active-ranks", "clamped-count", "padding-counted", "unshifted-count",
    "wrong-shift", "sequence-mean", "nominal-batch-size", "weights-ignored", "divided-by-items", "wrong-group",
    "rank-lost", "duplicated-items", "second-term-misweighted", "parameter-groups-differ", "bucket-dependent")
TIERS = (
    ("not-implemented",),
    ("rank-crashed", "mismatched-collectives", "deadlock", "timed-out", "raised", "unneeded-error", "argument-order"),
    ("wrong-type", "wrong-shape", "gradients-lost", "no-update", "wrong-number-of-steps", "optimizer-changed",
     "missing-forward", "stale-gradients", "held-window", "held-graphs", "window-boundaries",
     "clipped-before-normalizing", "clipped-wrongly", "work-not-shared", "missing-synchronization",
     "changed-its-argument", "not-synchronized"),
    NAMED_WEIGHTS,
    ("nan-or-inf", "overflow-or-truncation"),
    ("pure-scale",),
    ("wrong-tolerance", "should-be-none", "unexplained", "wrong-answer", "wrong-return-value"),
    ("extra-synchronization", "forbidden-operation", "sent-too-much", "sent-too-little"),
    ("wrong-exception", "missing-error"),
)
KEYS = tuple(key for tier in TIERS for key in tier)
_TIER = {key: number for number, tier in enumerate(TIERS) for key in tier}
_ENDS_THE_CHECK = ("rank-crashed", "mismatched-collectives", "deadlock", "timed-out")


@dataclass(frozen=True)
class Reason:
    """One candidate: a key, the sentence with this trial's numbers, and what every item weighed if that is known."""

    key: str
    sentence: str
    weights: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Finding:
    """What is wrong in one trial: all reasons that fit, best first; `trial` is its place in the check."""

    trial: int
    reasons: tuple[Reason, ...] = field(default=())

    @property
    def best(self) -> Reason:
        return self.reasons[0]


def tier(key: str) -> int:
    """How early a key is told: 0 first."""
    return _TIER[key]


def choose(findings: Sequence[Finding]) -> tuple[Finding, Reason]:
    """The finding to show and its reason: the lowest tier first; within it, the key that explains most failing
    trials (ties: the best-ranked reason), shown on the first trial that it explains."""
    first = min(tier(reason.key) for finding in findings for reason in finding.reasons[:1])
    shown = [finding for finding in findings if tier(finding.best.key) == first]
    weights = [finding for finding in findings
               if any(reason.weights is not None or tier(reason.key) == first for reason in finding.reasons)]
    votes: dict[str, tuple[int, int]] = {}
    for finding in shown:
        for place, reason in enumerate(finding.reasons):
            if tier(reason.key) == first and reason.key not in votes:
                explained = sum(any(r.key == reason.key for r in other.reasons) for other in weights)
                votes[reason.key] = (explained, -place)
    key = max(votes, key=lambda name: votes[name])
    for finding in shown:
        for reason in finding.reasons:
            if reason.key == key:
                return finding, reason
    raise AssertionError("unreachable: the key was taken from these findings")
