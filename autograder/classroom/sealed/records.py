"""What a rank hands back, by stage: who forges a record can choose its content, but not what kind of thing it is.

The judge reads records as those that `autograder/stages` make. ValueError for anything else.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import get_args, get_type_hints

import torch

from autograder.ranks.ledger import Call
from autograder.ranks.wire import Opaque

_LARGEST = 2**63


def check(stage: str, record: object, arguments: tuple, *, whole: bool) -> None:
    """Check the record of a rank with these arguments; `whole` says that the function returned on it."""
    kind = _KINDS.get(stage)
    if kind is not None and (whole or record is not None):
        kind(record, arguments, whole)


def require(holds: bool, what: str) -> None:
    """ValueError with `what` unless it holds."""
    if not holds:
        raise ValueError(what)


def checked_call(call: object) -> Call:
    """A call of a ledger, given as data."""
    require(type(call) is dict and set(call) == set(_CALL_FIELDS), "a call with other fields")
    require(all(type(call[name]) in kinds for name, kinds in _CALL_FIELDS.items()), "a call that is none")
    require(0 <= call["elements"] < _LARGEST and 0 <= call["sequence"] < 100_000, "a call with numbers that none has")
    require(len(call["ranks"]) <= 64 and all(type(rank) is int for rank in call["ranks"]), "a group of no ranks")
    return Call.from_dict(call)


_CALL_FIELDS = {name: get_args(kind) or (kind,) for name, kind in get_type_hints(Call).items()}


def _call(record: object, arguments: tuple, whole: bool, further: tuple[str, ...] = ()) -> None:
    if not whole:
        return
    _fields(record, "value", "arguments", "gradients", "requires_grad", *further)
    for name, kind in (("arguments", tuple), ("gradients", list), ("requires_grad", list)):
        require(type(record[name]) is kind and len(record[name]) == len(arguments), f"{name} of another number")
    _all(bool, record["requires_grad"])
    require(all(one is None or isinstance(one, (torch.Tensor, Opaque)) for one in record["gradients"]), "no gradients")


def _differentiated(record: object, arguments: tuple, whole: bool) -> None:
    if not whole:
        return
    _call(record, arguments, whole, ("in_graph", "derivatives", "derivative_error"))
    floating = [one for one in arguments if isinstance(one, torch.Tensor) and one.is_floating_point()]
    derivatives = record["derivatives"]
    require(type(record["in_graph"]) is bool and type(record["derivative_error"]) is str, "a graph that is none")
    require(type(derivatives) is list and len(derivatives) == len(floating), "derivatives of another number")
    for derivative, argument in zip(derivatives, floating, strict=True):
        require(derivative is None or type(derivative) is torch.Tensor and derivative.shape == argument.shape
                and derivative.dtype == argument.dtype, "no derivative")


def _reduced(record: object, arguments: tuple, _whole: bool) -> None:
    _fields(record, "gradients", "parameters", "requires_grad")
    count = len(arguments[0]["parameters"])
    for name in record:
        require(type(record[name]) is list and len(record[name]) == count, f"{name} of another number")
    _all(bool, record["requires_grad"])


def _trained(record: object, arguments: tuple, whole: bool) -> None:
    _fields(record, "calls")
    (description,) = arguments
    calls, due = record["calls"], description["calls"]
    require(type(calls) is list and 1 <= len(calls) <= len(due) and not (whole and len(calls) < len(due)),
            "another number of calls")
    for call in calls:
        _fields(call, "value", "snapshots", "parameters", "options_changed", "arguments", "ledger", "rows", "forwards",
                "held_at_forward", "microbatches_held")
        require(type(call["snapshots"]) is list and 1 <= len(call["snapshots"]) <= 1000, "no snapshots")
        require(all(type(one) is torch.Tensor and one.is_floating_point() and one.ndim == 1
                    for one in (*call["snapshots"], call["parameters"])), "no parameters")
        require(type(call["options_changed"]) is bool, "options that are none")
        require(type(call["arguments"]) is list and len(call["arguments"]) < 100, "arguments that are none")
        require(type(call["ledger"]) is list and len(call["ledger"]) <= 10_000, "no ledger")
        for one in call["ledger"]:
            checked_call(one)
        for numbers in (call["rows"], call["held_at_forward"], [call["forwards"], call["microbatches_held"]]):
            _all(int, numbers)
            require(all(0 <= number < _LARGEST for number in numbers), "a number that no meter shows")


def _fields(record: object, *names: str) -> None:
    require(type(record) is dict and set(record) == set(names), "a record with other fields")


def _all(kind: type, values: object) -> None:
    require(type(values) is list and all(type(value) is kind for value in values), f"something else than {kind}")


_KINDS: dict[str, Callable[[object, tuple, bool], None]] = {
    "autograder.stages.call:call": _call,
    "autograder.stages.window:call_with_counts": _call,
    "autograder.stages.call:differentiate": _differentiated,
    "autograder.stages.gradients:reduce": _reduced,
    "autograder.stages.train:train": _trained,
}
