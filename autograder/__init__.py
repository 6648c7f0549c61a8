"""Autograded exercises about keeping the intended objective when ranks contribute different numbers of items.

Nothing here starts a process or imports more than the standard library: every name below is loaded at first use,
so that a project which only wants the probe pays for nothing else.
"""
from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "check": "notebook",
    "check_choice": "notebook",
    "warm_up": "notebook",
    "grade": "grading",
    "run_on_ranks": "ranks.launch",
    "RanksFailed": "ranks.launch",
    "UpdateWindow": "window",
    "reference_update": "reference",
    "recover_weights": "weights",
    "explain_weights": "dials",
    "Verdict": "verdict",
    "WrongUpdate": "verdict",
}
_ROOMS = ("probe", "labs")

__all__ = [*_HOME, *_ROOMS]


def __getattr__(name: str):
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
