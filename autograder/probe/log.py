"""Capture: what the optimizer of any trainer got, and what the model was shown for it.

A hook that every `torch.optim` optimizer calls after its step reads the gradients that the step used; one before
it reads the parameters. Reading after the step matters: Lightning runs forward and backward inside `step`. A
forward hook notes each call of the model, so that nothing about samplers and batches has to be assumed.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._pytree import tree_map

from autograder.dials import Explanation
from autograder.probe.data import ProbeData
from autograder.probe.reading import Measurement, NotIdentifiable, measure_step
from autograder.probe.step import Step
from autograder.weights import Recovery
from autograder.window import UpdateWindow


class Log:
    """What `capture` saw: `steps`, and what they say. Complete when the `with` block ends.

    In a process group `window`, `weights` and `explain` gather what the other ranks saw: call them on every rank.
    """

    def __init__(self, reference: nn.Module | None, data: ProbeData | None, item_losses: Callable | None,
                 sgd_lr: float | None) -> None:
        self.steps: list[Step] = []
        self._reference, self._data, self._item_losses, self._sgd_lr = reference, data, item_losses, sgd_lr
        self._all_ranks: dict[int, list[Step]] = {}

    def measure(self, step: int = 0, *, objective: str = "token",
                accumulation_steps: int | None = None) -> Measurement:
        """Everything that step number `step` says. Raises IndexError when there was no such step."""
        if not self.steps:
            raise IndexError("no optimizer step was captured: step a torch.optim optimizer that holds the model's "
                             "parameters inside the block, or give sgd_lr for a wrapper that hides it")
        if self._reference is None:
            raise NotIdentifiable("capture was given parameters only, which cannot say what the items are: give the "
                                  "model, or hand window and item_gradients to weights() and explain()")
        if step not in self._all_ranks:
            self._all_ranks[step] = _gathered(self.steps[step])
        return measure_step(self._all_ranks[step], self._reference, data=self._data,
                            item_losses=self._item_losses, objective=objective, sgd_lr=self._sgd_lr,
                            accumulation_steps=accumulation_steps)

    def window(self, step: int = 0, **options) -> UpdateWindow:
        """The update window as the forward calls of all ranks show it."""
        return self.measure(step, **options).window

    def weights(self, window: UpdateWindow | None = None, *, item_gradients: Tensor | None = None,
                step: int = 0, by: str = "item", **options) -> Recovery:
        """What every item of the window weighed; by="microbatch": one weight for all items of a microbatch.

        `window` replaces the one read from the forward calls (items by rank, microbatch and place), as
        `item_gradients` [N, D] replaces the gradients computed for it. Raises NotIdentifiable when the gradients
        do not determine the weights.
        """
        return self._measurement(window, item_gradients, step, options).recover(by)

    def explain(self, window: UpdateWindow | None = None, *, item_gradients: Tensor | None = None,
                step: int = 0, **options) -> list[Explanation]:
        """The settings of the dials that predict this update, best first; key None when it is right."""
        return list(self._measurement(window, item_gradients, step, options).explanations)

    def _measurement(self, window, item_gradients, step: int, options: dict) -> Measurement:
        if window is not None and item_gradients is not None:
            updates = tuple(s.update(self._sgd_lr) for s in _gathered(self.steps[step]))
            return Measurement(window, item_gradients.double(), updates)
        measured = self.measure(step, **options)
        if window is None:
            return measured
        if window.item_count != measured.window.item_count:
            raise ValueError(f"the window has {window.item_count} items and the model was shown "
                             f"{measured.window.item_count}")
        return replace(measured, window=window, alternatives=())


@contextmanager
def capture(model_or_params: nn.Module | Iterable[Tensor], *, data: ProbeData | None = None,
            item_losses: Callable[..., Tensor] | None = None, sgd_lr: float | None = None,
            reference: nn.Module | None = None) -> Iterator[Log]:
    """Record every optimizer step on these parameters inside the block.

    model_or_params: the model (wrapped in DistributedDataParallel or not, sharded by `fully_shard` now or inside
    the block), or its parameters alone. data: the ProbeData whose labels a forward call without labels has.
    item_losses: `item_losses(model, *args, **kwargs)` → losses [n] of one forward call; by default the token
    cross entropy of a causal language model. sgd_lr: read the update off the parameters, as (before − after) / lr
    of the whole block, for wrappers that hide gradients: plain SGD, one step in the block. reference: an unsharded
    copy of the model, needed when the model is sharded already.
    """
    if data is not None and not isinstance(data, ProbeData):
        raise TypeError(f"data= takes the probe's own ProbeData, not a {type(data).__name__}: with sequences of your "
                        "own, hand labels= to the forward call, or give item_losses=")
    model = _unwrapped(model_or_params) if isinstance(model_or_params, nn.Module) else None
    if model is not None and reference is None:
        reference = _copied(model)
    log = Log(reference, data, item_losses, sgd_lr)
    listed = [] if model is not None else list(model_or_params)
    named = partial(_named_parameters, model) if model is not None else lambda: {
        str(i): p for i, p in enumerate(listed) if p.requires_grad}
    recorder = _Recorder(named, log)
    with ExitStack() as stack:
        if model is not None:
            stack.enter_context(_removed(model.register_forward_pre_hook(recorder.see, with_kwargs=True)))
        if sgd_lr is None:
            stack.enter_context(_removed(register_optimizer_step_pre_hook(recorder.before)))
            stack.enter_context(_removed(register_optimizer_step_post_hook(recorder.after)))
        before = recorder.values() if sgd_lr is not None else {}
        yield log
        if sgd_lr is not None:
            after = recorder.values()
            delta = {name: value - after[name] for name, value in before.items()}
            log.steps.append(Step(before, {}, delta, tuple(recorder.calls)))


class _Recorder:
    def __init__(self, named: Callable[[], dict[str, nn.Parameter]], log: Log) -> None:
        self.named, self.log = named, log
        self.calls: list[tuple[tuple, dict]] = []
        self._before: dict[str, Tensor] = {}

    def see(self, module: nn.Module, args: tuple, kwargs: dict) -> None:
        """Note a forward call that trains: not one without gradients, nor a recomputation during backward."""
        if torch.is_grad_enabled() and torch._C._current_graph_task_id() == -1:
            self.calls.append((tree_map(_kept, args), tree_map(_kept, kwargs)))

    def values(self) -> dict[str, Tensor]:
        return {name: _whole(parameter) for name, parameter in self.named().items()}

    def before(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        if self._owned(optimizer):
            self._before = self.values()

    def after(self, optimizer: torch.optim.Optimizer, args: tuple, kwargs: dict) -> None:
        owned = self._owned(optimizer)
        if not owned:
            return
        gradients = {name: _whole(p.grad) for name, p in owned.items() if p.grad is not None}
        delta = {name: self._before[name] - _whole(p) for name, p in owned.items()}
        last = self.log.steps[-1] if self.log.steps else None
        if last is not None and not self.calls and not last.delta.keys() & delta.keys():
            # A second optimizer for the rest of the parameters: the same update.
            self.log.steps[-1] = Step(last.parameters, {**last.gradients, **gradients},
                                      {**last.delta, **delta}, last.calls)
        else:
            self.log.steps.append(Step(self._before, gradients, delta, tuple(self.calls)))
        self.calls = []

    def _owned(self, optimizer: torch.optim.Optimizer) -> dict[str, nn.Parameter]:
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        return {name: p for name, p in self.named().items() if id(p) in held}


@contextmanager
def _removed(handle) -> Iterator[None]:
    try:
        yield
    finally:
        handle.remove()


def _gathered(step: Step) -> list[Step]:
    """This step on every rank, in order."""
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return [step]
    steps: list = [None] * dist.get_world_size()
    dist.all_gather_object(steps, step.to_dict())
    return [Step.from_dict(one) for one in steps]


def _unwrapped(module: nn.Module) -> nn.Module:
    """The module inside DistributedDataParallel and `torch.compile`."""
    while True:
        if isinstance(module, (nn.parallel.DistributedDataParallel, nn.DataParallel)):
            module = module.module
        elif hasattr(module, "_orig_mod"):
            module = module._orig_mod
        else:
            return module


def _copied(model: nn.Module) -> nn.Module:
    if any(hasattr(p, "full_tensor") for p in model.parameters()):
        raise ValueError("the model is sharded already: begin the capture before fully_shard, or give "
                         "reference=, an unsharded copy of the model")
    return copy.deepcopy(model).cpu().eval()


def _named_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    clean = lambda name: name.replace("_orig_mod.", "").replace("_checkpoint_wrapped_module.", "")  # noqa: E731
    return {clean(name): p for name, p in model.named_parameters() if p.requires_grad}


def _whole(tensor: Tensor) -> Tensor:
    """A copy on the CPU; a sharded tensor is put together, which is a collective."""
    tensor = tensor.detach()
    if hasattr(tensor, "full_tensor"):
        tensor = tensor.full_tensor()
    return tensor.cpu().clone()


def _kept(value: object) -> object:
    if isinstance(value, Tensor):
        return value.detach().cpu().clone()
    return value if value is None or isinstance(value, (bool, int, float, str)) else None
