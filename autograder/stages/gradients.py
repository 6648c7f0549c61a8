"""The stage for functions that reduce gradients: parameters with given `.grad`, the call, and each `.grad` after it.

What a rank gets is one description (a dict) and the word to hand on:
  "parameters", "gradients"  one tensor per parameter, in order; a gradient may be None;
  "frozen"                   the places of the parameters with requires_grad=False;
  "handed_as"                "list", "tuple", "generator", "dict values" or "module": what the function gets.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import nn

from autograder.ranks.wire import portable


def reduce(function: Callable, arguments: tuple, _ledger: object) -> dict:
    """{"gradients", "parameters", "requires_grad"}: one entry per parameter, as they are after the call."""
    description, word = arguments
    frozen = description["frozen"]
    parameters = [nn.Parameter(value, requires_grad=place not in frozen)
                  for place, value in enumerate(description["parameters"])]
    for parameter, gradient in zip(parameters, description["gradients"], strict=True):
        parameter.grad = gradient
    try:
        function(_handed(parameters, description["handed_as"]), word)
    except Exception as error:
        error.collected = _state(parameters)
        raise
    return _state(parameters)


def _handed(parameters: list[nn.Parameter], handed_as: str) -> Iterable[nn.Parameter]:
    if handed_as == "tuple":
        return tuple(parameters)
    if handed_as == "generator":
        return (parameter for parameter in parameters)
    if handed_as == "dict values":
        return {str(place): parameter for place, parameter in enumerate(parameters)}.values()
    return nn.ParameterList(parameters).parameters() if handed_as == "module" else list(parameters)


def _state(parameters: list[nn.Parameter]) -> dict:
    return {"gradients": [portable(parameter.grad) for parameter in parameters],
            "parameters": [portable(parameter.data) for parameter in parameters],
            "requires_grad": [isinstance(p, torch.Tensor) and p.requires_grad for p in parameters]}
