"""The plain stages: call the function with this rank's arguments, hand back its value and the arguments."""
from __future__ import annotations

from collections.abc import Callable

import torch

from autograder.ranks.wire import Opaque, placed, portable


def call(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """What it returned, and the arguments after the call: values, `.grad`, `requires_grad`."""
    return _record(function(*arguments), arguments)


def differentiate(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """As `call`, with floating tensors in a graph, as the outputs of a model are; and what the value's graph holds.

    in_graph: whether the value depends on a floating argument; derivatives: of the value, if it is one number, with
    respect to each floating argument, None for one that it does not depend on; derivative_error: what backward raised.
    """
    leaves = [a.detach().clone().requires_grad_() if _is_floating(a) else None for a in arguments]
    live = tuple(a if leaf is None else leaf.clone() for a, leaf in zip(arguments, leaves, strict=True))
    value = function(*live)
    wanted = [leaf for leaf in leaves if leaf is not None]
    in_graph = isinstance(value, torch.Tensor) and value.requires_grad
    derivatives, error = [None] * len(wanted), ""
    if in_graph and value.numel() == 1:
        try:
            derivatives = list(torch.autograd.grad(value.reshape(()), wanted, allow_unused=True))
        except RuntimeError as raised:
            error = str(raised).splitlines()[0]
    left = [leaf.grad if leaf is not None else None for leaf in leaves]
    record = _record(value, tuple(a.detach() if _is_floating(a) else a for a in live))
    record["gradients"] = [portable(mine if mine is not None else other)
                           for mine, other in zip(left, record["gradients"], strict=True)]
    return {**record, "in_graph": in_graph, "derivatives": portable(derivatives), "derivative_error": error}


def _record(value: object, arguments: tuple) -> dict:
    return {
        "value": portable(value),
        "arguments": portable(tuple(arguments)),
        "gradients": [portable(argument.grad) if _is_leaf(argument) else None for argument in arguments],
        "requires_grad": [isinstance(argument, torch.Tensor) and argument.requires_grad for argument in arguments],
    }


def _is_leaf(argument: object) -> bool:
    return isinstance(argument, torch.Tensor) and argument.is_leaf


def _is_floating(argument: object) -> bool:
    return isinstance(argument, torch.Tensor) and argument.is_floating_point()


def call_freely(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """For `run_on_ranks`: the arguments come cloudpickled from the caller; the value must be able to cross."""
    import cloudpickle

    (pickled,) = arguments
    value = portable(function(*placed(cloudpickle.loads(pickled), torch.get_default_device())))
    _require_plain(value)
    return {"value": value}


def _require_plain(value: object) -> None:
    if isinstance(value, Opaque):
        raise TypeError(f"a function on ranks returned a {value.type_name}, which cannot leave its rank"
                        f"{': ' + value.reason if value.reason else ''}. Return numbers, text, tensors, "
                        "or lists, tuples and dicts of these.")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        _require_plain(item)
