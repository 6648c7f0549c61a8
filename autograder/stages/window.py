"""The stage for functions that are told the counts of an update window: a frame carries numbers, here they become an
object with `counts`, as `UpdateWindow` has them."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autograder.stages.call import call


@dataclass(frozen=True)
class Counts:
    """counts[r][k] = n_rk, items of microbatch k on rank r."""

    counts: tuple[tuple[int, ...], ...]


def call_with_counts(function: Callable, arguments: tuple, ledger: object) -> dict:
    """As `call`; an argument {"counts": [[n_rk, …], …]} becomes an object with that attribute."""
    live = tuple(Counts(tuple(map(tuple, argument["counts"]))) if isinstance(argument, dict) else argument
                 for argument in arguments)
    record = call(function, live, ledger)
    record["arguments"] = tuple(given if isinstance(given, dict) else now
                                for given, now in zip(arguments, record["arguments"], strict=True))
    return record
