"""The keys of all reasons, their order of precedence, and the choice of one reason for a whole check.

A finding is what one trial shows. Tiers say what is told first: a step that never ends before a wrong value, a
named wrong weight before a NaN that it produces, an edge case that lacks its error last.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.dials.sentences import Causes, with_causes
from autograder.window import UpdateWindow

NAMED_WEIGHTS = (
    "mean-of-rank-means", "sum-of-rank-means", "global-divisor-then-mean", "never-divided", "divided-by-world-size",
    "mean-of-microbatch-means", "sum-of-microbatch-means", "local-window-count", "microbatch-count", "divided-twice",
    "full-window-divisor-on-partial-window", "active-ranks", "clamped-count", "padding-counted", "unshifted-count",
    "wrong-shift", "sequence-mean", "nominal-batch-size", "weights-ignored", "divided-by-items", "wrong-group",
    "rank-lost", "duplicated-items", "second-term-misweighted", "parameter-groups-differ", "bucket-dependent")
TIERS = (
    ("not-implemented",),
    ("rank-crashed", "mismatched-collectives", "deadlock", "timed-out", "raised", "unneeded-error", "argument-order"),
    ("wrong-type", "wrong-shape", "gradients-lost", "wrong-number-of-steps", "optimizer-changed",
     "missing-forward", "stale-gradients", "held-window", "held-graphs", "window-boundaries",
     "clipped-before-normalizing", "clipped-wrongly", "work-not-shared", "missing-synchronization",
     "changed-its-argument", "not-synchronized"),
    NAMED_WEIGHTS,
    ("nan-or-inf", "overflow-or-truncation"),
    ("pure-scale", "no-update"),
    ("wrong-tolerance", "should-be-none", "unexplained", "wrong-answer", "wrong-return-value"),
    ("extra-synchronization", "forbidden-operation", "sent-too-much", "sent-too-little"),
    ("wrong-exception", "missing-error"),
)
KEYS = tuple(key for tier in TIERS for key in tier)
_TIER = {key: number for number, tier in enumerate(TIERS) for key in tier}
_VALUES = TIERS.index(NAMED_WEIGHTS)
FALLBACKS = ("unexplained", "wrong-answer")


@dataclass(frozen=True)
class Reason:
    """One candidate: a key, the sentence with this trial's numbers, and what every item of which window weighed.

    causes: what may be behind it in this trial, told in the sentence's last line (`dials.sentences.with_causes`).
    """

    key: str
    sentence: str
    weights: tuple[float, ...] | None = None
    window: UpdateWindow | None = None
    causes: Causes = ()


@dataclass(frozen=True)
class Finding:
    """What is wrong in one trial: all reasons that fit, best first; `trial` is its place in the check; `special`: the
    trial is a case apart."""

    trial: int
    reasons: tuple[Reason, ...] = field(default=())
    special: bool = False

    @property
    def best(self) -> Reason:
        return self.reasons[0]


def tier(key: str) -> int:
    """How early a key is told: 0 first."""
    return _TIER[key]


def choose(findings: Sequence[Finding]) -> tuple[Finding, Reason]:
    """The finding to show and its reason.

    What goes wrong in special trials counts only where nothing else does: an ordinary one teaches more. A check in
    which a function misbehaves (the first tiers) is told so. Wrong values are told by the most specific key
    that explains every trial with a wrong value; when none does, by the named one that explains at least half of them.
    A trial that shows nothing but a NaN counts after these, a missing error last.
    """
    findings = [finding for finding in findings if not finding.special] or findings
    misbehaving = [finding for finding in findings if tier(finding.best.key) < _VALUES]
    if misbehaving:
        first = min(misbehaving, key=lambda finding: (tier(finding.best.key), finding.trial))
        return first, first.best
    wrong = [finding for finding in findings
             if _explains(finding, "unexplained") and not _explains(finding, "nan-or-inf")]
    wrong = wrong or [finding for finding in findings if _explains(finding, "wrong-answer")]
    for asked in (len(wrong), (len(wrong) + 1) // 2):
        for group in TIERS[_VALUES:]:
            keys = dict.fromkeys(r.key for finding in wrong for r in finding.reasons if r.key in group)
            covering = [key for key in keys if sum(_explains(f, key) for f in wrong) >= asked]
            if covering and not (asked == len(wrong) and covering[0] in FALLBACKS):
                return _shown_by(wrong, max(covering, key=lambda key: _merit(key, wrong)))
    for key in ("wrong-answer", "unexplained"):
        if wrong and all(_explains(finding, key) for finding in wrong):
            return _shown_by(wrong, key)
    first = min(findings, key=lambda finding: tier(finding.best.key))
    return first, first.best


def _explains(finding: Finding, key: str) -> bool:
    return any(reason.key == key for reason in finding.reasons)


def _merit(key: str, findings: Sequence[Finding]) -> tuple[int, float]:
    """In how many trials a key is among the reasons, and how early it stands there."""
    places = [[r.key for r in finding.reasons].index(key) for finding in findings if _explains(finding, key)]
    return len(places), -sum(places) / len(places)


def _shown_by(findings: Sequence[Finding], key: str) -> tuple[Finding, Reason]:
    """Where the key stands best among the reasons; of such trials one in which no second way to it fits, too."""
    places = [(place, len({other.sentence for other in finding.reasons if other.key == key}), finding.trial, finding)
              for finding in findings for place, reason in enumerate(finding.reasons) if reason.key == key]
    place, *_, finding = min(places, key=lambda entry: entry[:3])
    return finding, _with_common_causes(finding.reasons[place], findings)


def _with_common_causes(reason: Reason, findings: Sequence[Finding]) -> Reason:
    """The reason with those causes that most trials allow, if more than half do: in one alone a factor may be many
    things."""
    if not reason.causes:
        return reason
    trials = [finding for finding in findings if _explains(finding, reason.key)]
    possible = Counter(name for finding in trials for name in {
        name for other in finding.reasons if other.key == reason.key for name, _ in other.causes if name})
    most = max(possible.values(), default=0)
    causes = tuple((name, words) for name, words in reason.causes
                   if not name or (possible[name] == most and 2 * most > len(trials)))
    return replace(reason, sentence=with_causes(reason.sentence.rpartition("\n")[0], causes), causes=causes)
