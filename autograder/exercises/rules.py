"""The general rules: what a trial's outcomes show, from "a rank crashed" to "each item of rank 0 weighed 1/4".

`rule_on` judges an exercise whose function returns a value; `training.py` adds the rules for functions that train.
"""
from __future__ import annotations

from collections.abc import Sequence

import torch

from autograder import diagnosis, dials
from autograder.diagnosis import Reason
from autograder.exercises.record import Holds, Raises, Trial
from autograder.ranks import report, wire
from autograder.ranks.report import RankOutcome, ranks_words
from autograder.window import UpdateWindow

TOLERANCE = {torch.float64: 1e-6, torch.float32: 2e-5}


def rule_on(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """The general rule: [] if the trial came out right, else the reasons that fit, best first."""
    if isinstance(trial.expected, Raises):
        return rule_on_error(trial, outcomes)
    if behaviour := rule_on_behaviour(trial, outcomes):
        return behaviour
    results = [wire.decode(outcome.result) for outcome in outcomes]
    reasons: list[Reason] = []
    for rank, result in enumerate(results):
        reasons += _changed_arguments(trial, rank, result)
    values = [result["value"] for result in results]
    return [*reasons, *rule_on_values(trial, values)]


def rule_on_behaviour(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """Reasons why ranks did not all return: crashes, exceptions, waiting in vain, deadlines."""
    died = [outcome for outcome in outcomes if outcome.end == "died"]
    raised = [o for o in outcomes if o.end == "raised" and not (died and o.error["in_torch"])]
    unfinished = [outcome for outcome in outcomes if not outcome.finished]
    if died:
        if any("preamble" in outcome.output for outcome in died):
            known = report.describe_last_calls(outcomes)
            return [Reason("mismatched-collectives", _two_lines(
                f"{report.sentence(ranks_words([o.rank for o in died]))} was ended by gloo: two ranks met in one "
                "communication with different sizes.", report.differing_calls(outcomes) or (
                    f"{report.sentence(known)}." if known else "")))]
        return [Reason("rank-crashed", _two_lines(
            "; ".join(report.sentence(report.describe_death(outcome)) for outcome in died) + ".",
            _last_words(died)))]
    if raised:
        return _rule_on_raised(trial, raised, outcomes)
    if unfinished:
        waits = report.sentence(report.describe_waiting(outcomes))
        differing = report.differing_calls(outcomes)
        if any(outcome.end in ("running", "silent") for outcome in unfinished):
            return [Reason("timed-out", f"No end before the deadline: {waits[0].lower()}{waits[1:]}")]
        key = "mismatched-collectives" if differing and not any(o.finished for o in outcomes) else "deadlock"
        return [Reason(key, _two_lines(waits, differing or ""))]
    return []


def _rule_on_raised(trial: Trial, raised: Sequence[RankOutcome], outcomes: Sequence[RankOutcome]) -> list[Reason]:
    if any(map(_is_unwritten, raised)):
        return [Reason("not-implemented", "The function is not written yet: it still raises NotImplementedError.")]
    first = raised[0]
    ranks = ranks_words([o.rank for o in raised if o.error["type"] == first.error["type"]])
    who = report.sentence(f"{ranks} raised " if trial.world_size > 1 else "it raised ") + report.describe_error(first)
    if "ValueError" in first.error["bases"] and first.error["frames"] and not first.error["in_torch"]:
        answer = "There is an answer for these arguments." if trial.arguments[0] else "There is an answer."
        return [Reason("unneeded-error", _two_lines(who, answer))]
    if first.error["type"] in ("EOFError", "BdbQuit"):
        return [Reason("raised", _two_lines(who, "A rank has no keyboard: leave out input() and breakpoint()."))]
    waiting = [o for o in outcomes if not o.finished]
    return [Reason("raised", _two_lines(who, report.sentence(report.describe_waiting(outcomes)) if waiting else ""))]


def rule_on_error(trial: Trial, outcomes: Sequence[RankOutcome]) -> list[Reason]:
    """For trials in which every rank must raise an exception of a given type."""
    wanted = trial.expected.error.__name__
    right = [o for o in outcomes if o.end == "raised" and wanted in o.error["bases"]]
    if len(right) == len(outcomes):
        return []
    if any(o.end == "died" for o in outcomes) or any(
            o.end == "raised" and _is_unwritten(o) for o in outcomes):
        return rule_on_behaviour(trial, outcomes)
    why = f"A {wanted} is due here: {trial.expected.why}."
    other = [o for o in outcomes if o.end == "raised" and wanted not in o.error["bases"]]
    if other:
        return [Reason("wrong-exception", _two_lines(
            f"{_who(trial, [o.rank for o in other])} raised {report.describe_error(other[0])}", why))]
    if any(not o.finished for o in outcomes):
        return [Reason("deadlock", _two_lines(report.sentence(report.describe_waiting(outcomes)),
                                              f"{why} Every rank must know it before any rank waits."))]
    silent = ranks_words([o.rank for o in outcomes if o.end == "returned"])
    return [Reason("missing-error", _two_lines(
        why, f"{report.sentence(silent)} returned a value instead." if trial.world_size > 1 else
        "The function returned a value instead."))]


def _is_unwritten(outcome: RankOutcome) -> bool:
    """Whether it raised as a stub does; PyTorch's own NotImplementedErrors say what they cannot do."""
    return outcome.error["type"] == "NotImplementedError" and not outcome.error["message"]


def _who(trial: Trial, ranks: Sequence[int]) -> str:
    return report.sentence(ranks_words(ranks)) if trial.world_size > 1 else "The function"


def _last_words(died: Sequence[RankOutcome]) -> str:
    words = next((" ".join(o.output.split())[-200:] for o in died if o.output.strip()), "")
    return f"It wrote: {words}" if words else ""


def _two_lines(first: str, second: str) -> str:
    return f"{first}\n{second}" if second else first


def _changed_arguments(trial: Trial, rank: int, result: dict) -> list[Reason]:
    """Whether the arguments of a rank are still what they were: values, `.grad`, `requires_grad`."""
    for position, (before, after) in enumerate(zip(trial.arguments[rank], result["arguments"], strict=True), start=1):
        if not identical(before, after):
            what = f"changed its argument number {position}"
        elif isinstance(result["gradients"][position - 1], torch.Tensor):
            what = f"left a gradient on its argument number {position}"
        elif result["requires_grad"][position - 1]:
            what = f"set requires_grad on its argument number {position}"
        else:
            continue
        who = f"On rank {rank} the function" if trial.world_size > 1 else "The function"
        return [Reason("changed-its-argument", f"{who} {what}.\nThe caller still needs it: work on a copy.")]
    return []


def identical(one: object, other: object) -> bool:
    """The same type, shape and values, NaN counting as NaN."""
    if isinstance(one, torch.Tensor):
        return (isinstance(other, torch.Tensor) and one.dtype == other.dtype and one.shape == other.shape
                and torch.equal(one.nan_to_num(nan=0.5), other.nan_to_num(nan=0.5))
                and torch.equal(one.isnan(), other.isnan()))
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(identical, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(
            identical(one[key], other[key]) for key in one)
    return type(one) is type(other) and (one == other or one != one)


def rule_on_values(trial: Trial, values: Sequence[object]) -> list[Reason]:
    """Reasons against the values that the ranks returned; [] if all are right."""
    wrong: list[int] = []
    for rank, value in enumerate(values):
        expected = trial.expected_on(rank)
        if isinstance(expected, Holds):
            if (reason := expected.judge(value)) is not None:
                return [reason]
        elif problem := misfit(value, expected):
            key, sentence = problem
            who = f"Rank {rank}" if trial.world_size > 1 else "The function"
            why = "\nNone comes from a missing return, or from a call that works in place and returns nothing."
            return [Reason(key, f"{who} returned {sentence}.{why * (value is None)}")]
        elif not agrees(value, expected):
            wrong.append(rank)
    return _rule_on_wrong_values(trial, values, wrong) if wrong else []


def misfit(value: object, expected: object) -> tuple[str, str] | None:
    """(key, what is wrong) when a value is not of the expected kind at all."""
    if isinstance(expected, torch.Tensor):
        if not isinstance(value, torch.Tensor):
            return "wrong-type", f"{_kind(value)} where a tensor is asked"
        if value.dtype not in TOLERANCE:
            return "wrong-type", f"a tensor of dtype {str(value.dtype)[6:]} where float64 or float32 is asked"
        if value.shape != expected.shape:
            return "wrong-shape", f"shape {list(value.shape)} where {list(expected.shape)} is asked"
    elif isinstance(expected, bool):
        if type(value) is not bool:
            return "wrong-type", f"{_kind(value)} where a bool is asked"
    elif isinstance(expected, int):
        if type(value) is not int:
            return "wrong-type", f"{_kind(value)} where an int is asked"
    elif isinstance(expected, float):
        if type(value) not in (int, float):
            return "wrong-type", f"{_kind(value)} where a number is asked"
    elif expected is None:
        if value is not None:
            return "should-be-none", f"{_kind(value)} where None is right"
    elif isinstance(expected, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(expected):
            return "wrong-shape" if isinstance(value, (list, tuple)) else "wrong-type", \
                f"{_kind(value)} where a list of {len(expected)} is asked"
        return next(filter(None, map(misfit, value, expected)), None)
    return None


def _kind(value: object) -> str:
    if isinstance(value, wire.Opaque):
        return f"a {value.type_name}" + (f" ({value.reason})" if value.reason else "")
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def agrees(value: object, expected: object) -> bool:
    """Within the course's tolerance: the largest error against the reference's largest entry; NaN where NaN is due.

    1e-6 for float64 and plain floats, 2e-5 for float32; bools and integers exactly.
    """
    if isinstance(expected, torch.Tensor):
        return _close(value.double(), expected.double(), TOLERANCE[value.dtype])
    if isinstance(expected, float):
        return _close(torch.tensor(float(value), dtype=torch.float64), torch.tensor(expected, dtype=torch.float64),
                      TOLERANCE[torch.float64])
    if isinstance(expected, (list, tuple)):
        return all(map(agrees, value, expected))
    return value == expected


def _close(value: torch.Tensor, expected: torch.Tensor, rtol: float) -> bool:
    finite = expected.isfinite()
    if not torch.equal(value[~finite].nan_to_num(nan=0.5), expected[~finite].nan_to_num(nan=0.5)):
        return False
    if not finite.any():
        return True
    error = (value[finite] - expected[finite]).abs().max()
    return bool(error <= rtol * expected[finite].abs().max())


def _rule_on_wrong_values(trial: Trial, values: Sequence[object], wrong: Sequence[int]) -> list[Reason]:
    first = wrong[0]
    value, expected = values[first], trial.expected_on(first)
    reasons: list[Reason] = []
    differs = _first_difference(values) if not trial.per_rank else None
    if differs is not None:
        one, other = differs
        reasons.append(Reason("not-synchronized",
                              f"The ranks do not agree: rank {one} returned {shown(values[one])} and rank {other} "
                              f"{shown(values[other])}.\nEvery rank must end with the same {_noun(expected)}."))
    poisoned = _has_nan(value) and not _has_nan(expected)
    reasons += [reason for reason, mistaken in trial.mistakes
                if misfit(value, mistaken) is None and agrees(value, mistaken)]
    if trial.update is not None and differs is None and not poisoned:
        reasons += _explained(trial, value)
    if poisoned:
        empty = [rank for rank, count in enumerate(trial.counts) if count == 0]
        cause = f" {report.sentence(ranks_words(empty))} {'has' if len(empty) == 1 else 'have'} no items: " \
                "what is 0/0 there, and 0 times NaN?" if empty else ""
        reasons.append(Reason("nan-or-inf", f"The result is {shown(value)}; it should be {shown(expected)}.{cause}"))
    if trial.update is None and not reasons:
        reasons += _scaled(value, expected)
    who = f"{report.sentence(ranks_words(wrong))} returned" if trial.world_size > 1 else "The function returned"
    reasons.append(Reason("unexplained" if trial.update is not None else "wrong-answer",
                          f"{who} {shown(value)}; right is {shown(expected)}."))
    first = [reason for n, reason in enumerate(reasons) if reason.key not in {other.key for other in reasons[:n]}]
    return sorted(first, key=lambda reason: diagnosis.tier(reason.key))


def _explained(trial: Trial, value: object) -> list[Reason]:
    """Settings of the dials that predict this update."""
    rtol = 10 * TOLERANCE[value.dtype] if isinstance(value, torch.Tensor) else 1e-5
    update = trial.update.of(value)
    found = dials.explain_update(update, trial.update.item_gradients, trial.update.window, rtol)
    return reasons_of(found, trial.update.window)


def reasons_of(explanations: Sequence[dials.Explanation], window: UpdateWindow) -> list[Reason]:
    """Explanations as reasons; the other names of each come last, for checks in which only they fit everywhere."""
    named = [entry for entry in explanations if entry.key not in (None, "unexplained")]
    pairs = [(entry.key, entry) for entry in named] + [(alias, entry) for entry in named for alias in entry.aliases]
    return [Reason(key, entry.sentence, tuple(entry.weights.tolist()), window, entry.causes) for key, entry in pairs]


def _scaled(value: object, expected: object) -> list[Reason]:
    """Whether the value is a multiple of the right one."""
    if isinstance(expected, bool) or not isinstance(expected, (torch.Tensor, float)):
        return []
    one = torch.as_tensor(value, dtype=torch.float64).flatten()
    right = torch.as_tensor(expected, dtype=torch.float64).flatten()
    if not len(right) or not right.isfinite().all() or not one.isfinite().all() or not right.abs().max() > 0:
        return []
    factor = float(one @ right / (right @ right))
    if factor and len(right) > 1 and float((one - factor * right).abs().max()) <= 1e-5 * abs(factor) * float(
            right.abs().max()):
        return [Reason("pure-scale", f"Every number is {factor:.4g} times what it should be.\n"
                                     f"It returned {shown(value)}; right is {shown(expected)}.")]
    return []


def _first_difference(values: Sequence[object]) -> tuple[int, int] | None:
    for rank, value in enumerate(values[1:], start=1):
        same = misfit(value, values[0]) is None and (
            identical(value, values[0]) or agrees(value, values[0]))
        if not same:
            return 0, rank
    return None


def _has_nan(value: object) -> bool:
    return not bool(torch.as_tensor(value, dtype=torch.float64).isfinite().all()) \
        if isinstance(value, (torch.Tensor, float)) else False


def shown(value: object) -> str:
    """A value as a message shows it: a few numbers."""
    if isinstance(value, torch.Tensor):
        flat = value.flatten().tolist()
        shown = ", ".join(f"{entry:.6g}" for entry in flat[:4]) + (", …" if len(flat) > 4 else "")
        return shown if value.ndim == 0 else f"[{shown}]"
    if isinstance(value, bool) or value is None:
        return str(value)
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)[:60]


def _noun(expected: object) -> str:
    return "answer" if isinstance(expected, bool) else "result"
