"""The plain stage: call the function with this rank's arguments, hand back its value and the arguments."""
from __future__ import annotations

from collections.abc import Callable

import torch

from autograder.ranks.wire import Opaque, portable


def call(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """What it returned, and the arguments after the call: values, `.grad`, `requires_grad`."""
    value = function(*arguments)
    return {
        "value": portable(value),
        "arguments": portable(tuple(arguments)),
        "gradients": [portable(argument.grad) if _is_leaf(argument) else None for argument in arguments],
        "requires_grad": [isinstance(argument, torch.Tensor) and argument.requires_grad for argument in arguments],
    }


def _is_leaf(argument: object) -> bool:
    return isinstance(argument, torch.Tensor) and argument.is_leaf


def call_freely(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """For `run_on_ranks`: the arguments come cloudpickled from the caller; the value must be able to cross."""
    import cloudpickle

    (pickled,) = arguments
    value = portable(function(*cloudpickle.loads(pickled)))
    _require_plain(value)
    return {"value": value}


def _require_plain(value: object) -> None:
    if isinstance(value, Opaque):
        raise TypeError(f"a function on ranks returned a {value.type_name}, which cannot leave its rank"
                        f"{': ' + value.reason if value.reason else ''}. Return numbers, text, tensors, "
                        "or lists, tuples and dicts of these.")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _require_plain(item)
