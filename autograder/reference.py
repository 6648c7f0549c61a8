"""The update of one process that holds all items, and the gradient of every item, in float64.

Nothing here knows of ranks or microbatches: this is what a distributed step is compared with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

ItemLosses = Callable[..., Tensor]  # item_losses(module, *batch) -> losses [n], one per item


@torch.enable_grad()
def per_item_gradients(module: nn.Module, item_losses: ItemLosses, *batch) -> Tensor:
    """The gradient of every item's loss, [n, D] in float64; D runs over the trainable parameters in order.

    `item_losses(module, *batch)` returns the losses [n], n >= 0. It is called once, with a float64 copy of
    the module (taken out of DistributedDataParallel) and the batch with its float tensors in float64: the
    module and the batch given here stay as they are. Raises ValueError if the losses are not of shape [n].
    """
    model, losses = _losses(module, item_losses, batch)
    parameters = _trainable(model)
    rows = [_flat(torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True), parameters)
            for loss in losses]
    width = sum(p.numel() for p in parameters)
    return torch.stack(rows) if rows else torch.zeros(0, width, dtype=torch.float64)


@torch.enable_grad()
def reference_update(
    module: nn.Module, item_losses: ItemLosses, *batch, sample_weights: Tensor | None = None
) -> Tensor:
    """The gradient [D] of (1/N) Σ ℓ_i, or of Σ w_i ℓ_i / Σ w_i with sample weights [n], in float64.

    Arguments as in `per_item_gradients`. Raises ValueError if there is no item or the weights sum to 0.
    """
    model, losses = _losses(module, item_losses, batch)
    if len(losses) == 0:
        raise ValueError("there is no item (N = 0): no update is defined")
    weights = torch.ones_like(losses) if sample_weights is None else sample_weights.to(losses)
    if weights.shape != losses.shape:
        raise ValueError(f"{list(weights.shape)} sample weights for {len(losses)} items")
    if not weights.sum() > 0:
        raise ValueError("the sample weights sum to 0 (W = 0): no update is defined")
    objective = (weights * losses).sum() / weights.sum()
    parameters = _trainable(model)
    return _flat(torch.autograd.grad(objective, parameters, allow_unused=True), parameters)


def _losses(module: nn.Module, item_losses: ItemLosses, batch: tuple) -> tuple[nn.Module, Tensor]:
    if isinstance(module, nn.parallel.DistributedDataParallel):
        module = module.module
    model = copy.deepcopy(module).double()
    losses = item_losses(model, *(_double(entry) for entry in batch))
    if not isinstance(losses, Tensor) or losses.ndim != 1:
        shape = list(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(f"item_losses must return one loss per item, shape [n], not {shape}")
    return model, losses


def _double(entry):
    return entry.detach().double() if isinstance(entry, Tensor) and entry.is_floating_point() else entry


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [p for p in module.parameters() if p.requires_grad]


def _flat(gradients, parameters) -> Tensor:
    """One row [D]; a parameter that a loss does not use has gradient zero."""
    return torch.cat([(torch.zeros_like(p) if g is None else g).detach().flatten()
                      for g, p in zip(gradients, parameters, strict=True)])
