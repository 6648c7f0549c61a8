"""The probe: what every item in a batch of anyone's trainer really weighs.

    with probe.capture(model, data=data) as log:      # around any training step
        train_step(model, data)
    print(log.explain()[0].sentence)

`assert_normalized` is the same as a test of one line, for pytest. Needs torch and cloudpickle, no Jupyter.
Loaded at first use, so that the pytest plugin costs a test run nothing until a test asks for it.
"""
from importlib import import_module

_HOME = {
    "capture": "log",
    "Log": "log",
    "Step": "step",
    "ProbeData": "data",
    "ProbeModel": "data",
    "Measurement": "reading",
    "NotIdentifiable": "reading",
    "token_losses": "reading",
    "assert_normalized": "asserts",
    "measure": "asserts",
}

__all__ = [*_HOME]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
