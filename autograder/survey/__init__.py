"""Real trainers, measured live: what every token of their update weighs. `python -m autograder survey`.

Each trainer runs on real gloo processes with a deadline of its own; one that fails is a row with the reason.
Trainers other than torch's need the extra `frameworks`; without it their rows say so.
"""
from importlib import import_module

_HOME = {"survey": "run", "Finding": "run", "to_text": "table", "to_markdown": "table", "TRAINERS": "trainers"}
__all__ = [*_HOME]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
