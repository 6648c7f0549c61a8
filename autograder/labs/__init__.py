"""What the lessons show and let one turn: figures, and one module per lab (needs the extra `course`)."""

from importlib import import_module

__all__ = ["figures", "item_mean"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
