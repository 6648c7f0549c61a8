"""A captured step: what one optimizer step on one rank used, and what the model was shown for it."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Step:
    """One optimizer step on one rank.

    parameters: {name: value before the step}, unsharded, the trainable ones. gradients: {name: gradient that the
    step used} (after clipping), {} where they are hidden. delta: {name: value before − value after}. calls: the
    arguments (args, kwargs) of the model's forward calls since the step before, one per microbatch.
    """

    parameters: dict[str, Tensor]
    gradients: dict[str, Tensor]
    delta: dict[str, Tensor]
    calls: tuple[tuple[tuple, dict], ...] = ()

    def update(self, sgd_lr: float | None = None) -> Tensor:
        """[D], parameters in order: the gradient, or delta / `sgd_lr` when that is given."""
        parts = self.gradients if sgd_lr is None else {n: d / sgd_lr for n, d in self.delta.items()}
        return torch.cat([parts.get(name, torch.zeros_like(p)).flatten() for name, p in self.parameters.items()])

    def to_dict(self) -> dict:
        return {"parameters": self.parameters, "gradients": self.gradients, "delta": self.delta,
                "calls": [{"args": list(args), "kwargs": kwargs} for args, kwargs in self.calls]}

    @classmethod
    def from_dict(cls, data: dict) -> Step:
        calls = tuple((tuple(call["args"]), call["kwargs"]) for call in data["calls"])
        return cls(data["parameters"], data["gradients"], data["delta"], calls)
