"""The training stage: real models under DDP, stale gradients in place, then the function, metered.

What a rank gets is one description (a dict):
  "models"   name → description for `build_model`; "model" is the one that trains;
  "ddp"      the names of those under DistributedDataParallel (used for two synchronised backwards beforehand);
  "lr"       of the SGD optimizer over the parameters of all models;
  "groups"   name → partition of the ranks; each rank gets its own part as a process group;
  "calls"    the arguments of each call, in order; "@model", "@model:NAME", "@optimizer", "@group:NAME" stand for the
             live objects, {"iterator": [...]} for an iterator without length over these microbatches;
  "hook"     if true the function is a communication hook: it is registered, and each call is one
             [inputs, targets, item_count] that the stage itself steps through.
Nothing here knows what is right: all is handed back for the judge.
"""
from __future__ import annotations

import contextlib
import re
import weakref
from collections.abc import Callable, Iterator

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parallel import DistributedDataParallel

from autograder.ranks.ledger import Ledger
from autograder.ranks.wire import portable
from autograder.stages.models import build_model

POISON = 1000.0
FENCE = "between two calls"


class NotAFuture(TypeError):
    """A communication hook returned something else than a future of one tensor of the bucket's size."""

    def __init__(self, returned: str) -> None:
        super().__init__(f"the hook returned {returned}, where a torch.futures.Future of one tensor of the bucket's "
                         "size is asked: return fut.then(callback), where fut is a future such as work.get_future() "
                         "and the callback returns that tensor")


def train(function: Callable, arguments: tuple, ledger: Ledger) -> dict:
    """{"calls": one record per call}; see `_Bench.record` for what a record holds.

    No rank begins a call before all have ended the one before: a collective that a rank skipped would pair with the
    next call's. They wait for each other in a process group of their own, described as FENCE.
    """
    (description,) = arguments
    bench = _Bench(function, description, ledger)
    records: list[dict] = []
    for call in description["calls"]:
        if records:
            bench.wait_for_all()
        try:
            records.append(bench.hooked(call) if description.get("hook") else bench.call(call))
        except Exception as error:
            error.collected = {"calls": [*records, bench.record(None, call)]}
            raise
    return {"calls": records}


class _Bench:
    def __init__(self, function: Callable, description: dict, ledger: Ledger) -> None:
        self.function = function
        self.ledger = ledger
        self.modules = {name: build_model(model) for name, model in description["models"].items()}
        distributed = dist.is_available() and dist.is_initialized()
        self.models: dict[str, nn.Module] = {
            name: DistributedDataParallel(module) if name in description["ddp"] and distributed else module
            for name, module in self.modules.items()}
        self.groups = {name: _own_group(partition) for name, partition in description.get("groups", {}).items()}
        self.parameters = [p for module in self.modules.values() for p in module.parameters()]
        self.optimizer = torch.optim.SGD(self.parameters, lr=description["lr"])
        self.optimizer.register_step_post_hook(lambda *_: self._count_step())
        for name in description["ddp"]:
            for _ in range(2):
                _total(self.models[name](description["warm"][name])).backward()
        self.state: dict = {}
        if description.get("hook"):
            self.faults: list[Exception] = []
            self.models["model"].register_comm_hook(self.state, _as_hook(function, self.faults))
        self.iterator: _Microbatches | None = None
        self.meter = _Meter(self.modules["model"], self.models["model"], lambda: self.iterator and self.iterator.look())
        several = distributed and dist.get_world_size() > 1
        self.fence = dist.new_group(backend="gloo", group_desc=FENCE) if several else None
        self.wait_for_all()

    def wait_for_all(self) -> None:
        """Go on when all ranks are here."""
        if self.fence is not None:
            dist.barrier(self.fence)

    def _count_step(self) -> None:
        self.snapshots.append(self._flat())
        self.options_changed |= _options(self.optimizer) != self.options

    def _flat(self) -> torch.Tensor:
        return torch.cat([p.detach().reshape(-1) for p in self.parameters]).to("cpu", copy=True)

    def _prepare(self) -> None:
        self.snapshots = [self._flat()]
        self.options, self.options_changed = _options(self.optimizer), False
        for parameter in self.parameters:
            parameter.grad = torch.full_like(parameter, POISON)
        self.meter.reset()
        self.ledger.mark()
        self.iterator = None

    def call(self, call: list) -> dict:
        """Call the function once, over stale gradients."""
        self._prepare()
        live = [self._live(argument) for argument in call]
        with self.meter:
            value = self.function(*live)
        return self.record(value, live)

    def hooked(self, call: list) -> dict:
        """One window of the harness's own with the function as communication hook."""
        inputs, targets, item_count = call
        self._prepare()
        self.state["item_count"] = item_count
        self.optimizer.zero_grad()
        loss = 0.5 * ((self.models["model"](inputs) - targets) ** 2).sum()
        loss.backward()
        if self.faults:
            raise self.faults[0]
        self.optimizer.step()
        return self.record(None, [])

    def _live(self, argument: object) -> object:
        if isinstance(argument, str) and argument.startswith("@"):
            what, _, name = argument[1:].partition(":")
            if what == "model":
                return self.models[name or "model"]
            return self.optimizer if what == "optimizer" else self.groups[name]
        if isinstance(argument, dict) and "iterator" in argument:
            self.iterator = _Microbatches(argument["iterator"])
            return iter(self.iterator)
        return argument

    def record(self, value: object, live: list) -> dict:
        """What the call left behind.

        value; snapshots: all parameters as one vector [D], before the call and after each optimizer step; parameters:
        at the end; options_changed: at the end or after a step; arguments: as they are now; ledger: of this call;
        rows: of each forward of "model"; forwards: calls of "model" as it was handed over (of DDP's forward, where it
        is under DDP); held_at_forward: saved activations alive when each forward began; microbatches_held: of those
        that the iterator gave, the most that were alive when a forward began (a name left over from the turn before is
        not counted there).
        """
        return {
            "value": portable(value),
            "snapshots": self.snapshots,
            "parameters": self._flat(),
            "options_changed": self.options_changed or _options(self.optimizer) != self.options,
            "arguments": [portable(a) if not isinstance(a, (nn.Module, torch.optim.Optimizer)) else None for a in live],
            "ledger": [call.to_dict() for call in self.ledger.own_calls()],
            "rows": self.meter.rows,
            "forwards": self.meter.forwards,
            "held_at_forward": self.meter.held,
            "microbatches_held": self.iterator.most_held if self.iterator else 0,
        }


def _own_group(partition: list[list[int]]) -> dist.ProcessGroup | None:
    groups = [(ranks, dist.new_group(ranks)) for ranks in partition]
    return next(group for ranks, group in groups if dist.get_rank() in ranks)


def _total(outputs: object) -> torch.Tensor:
    return sum(part.sum() for part in outputs) if isinstance(outputs, tuple) else outputs.sum()


def _options(optimizer: torch.optim.Optimizer) -> list[dict]:
    return [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]


def _as_hook(function: Callable, faults: list[Exception]) -> Callable:
    """DDP wants a function with a name, an argument `bucket` and annotations that are types, not text: any callable
    becomes one. What is wrong with the future's result is noted in `faults`: DDP's own words for it are an assertion
    about its insides."""
    def hook(state, bucket):
        future = function(state, bucket)
        if not isinstance(future, torch._C.Future):
            raise NotAFuture(_article(future))
        return future.then(lambda done: _result(done, bucket.buffer()))

    def _result(done: torch.futures.Future, buffer: torch.Tensor) -> torch.Tensor:
        try:
            value = done.value()
            if isinstance(value, Exception):  # of Future.set_exception
                raise value
            if isinstance(value, torch.Tensor) and value.numel() == buffer.numel():
                return value
            faults.append(NotAFuture(f"a future of {_article(value)}"))
        except Exception as error:
            faults.append(_of_callback(error))
        return buffer

    hook.__annotations__ = {"bucket": dist.GradBucket, "return": torch.futures.Future[torch.Tensor]}
    return hook


def _article(value: object) -> str:
    """What a value is: "a Work", "a list of 2", "a tensor of 12 elements"."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        return f"a tensor of {value.numel()} elements"
    return f"a {type(value).__name__}{f' of {len(value)}' if isinstance(value, (list, tuple)) else ''}"


def _of_callback(error: Exception) -> Exception:
    """The exception of a future's callback, which comes as a text with its type, message and stack, in one line."""
    told = re.search(r"running the callback: (.*?)\s+At:\s+.*?\((\d+)\): ", str(error), flags=re.S)
    return RuntimeError(f"{told[1]} (in the callback of a future, line {told[2]})") if told else error


class _Meter:
    """Rows of each forward of a module, calls of what wraps it, saved activations alive when a forward begins."""

    def __init__(self, module: nn.Module, wrapper: nn.Module, at_forward: Callable[[], object]) -> None:
        self._alive: weakref.WeakSet[_Saved] = weakref.WeakSet()
        self._at_forward = at_forward
        self.reset()
        module.register_forward_pre_hook(self._forward)
        wrapper.register_forward_pre_hook(self._count)

    def reset(self) -> None:
        self.rows: list[int] = []
        self.held: list[int] = []
        self.forwards = 0

    def _count(self, *_: object) -> None:
        self.forwards += 1

    def _forward(self, _module: nn.Module, inputs: tuple) -> None:
        if torch._C._current_graph_task_id() != -1:
            return  # in a backward: activation checkpointing computes once more what it did not hold
        first = inputs[0] if inputs and isinstance(inputs[0], torch.Tensor) else torch.zeros(0, 0)
        self.rows.append(len(first) if first.ndim > 1 else 1)  # a single row, as torch.func.vmap hands it on
        own = _memory(first)  # a checkpoint saves the inputs before the forward
        self.held.append(sum(_memory(saved.tensor) != own for saved in self._alive))
        self._at_forward()

    def _pack(self, tensor: torch.Tensor) -> _Saved:
        saved = _Saved(tensor)
        self._alive.add(saved)
        return saved

    def __enter__(self) -> None:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda saved: saved.tensor)
        self._hooks.__enter__()
        self._pauses, self._refuse_hooks = 0, torch.autograd.graph.disable_saved_tensors_hooks
        torch.autograd.graph.disable_saved_tensors_hooks = self._paused

    def __exit__(self, *details: object) -> None:
        torch.autograd.graph.disable_saved_tensors_hooks = self._refuse_hooks
        self._hooks.__exit__(*details)

    @contextlib.contextmanager
    def _paused(self, message: str) -> Iterator[None]:
        """The transformations of torch.func refuse to run under hooks, so inside them nothing is metered."""
        if not self._pauses:
            self._hooks.__exit__()
        self._pauses += 1
        try:
            with self._refuse_hooks(message):
                yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._hooks.__enter__()


def _memory(tensor: torch.Tensor) -> int:
    """Where a tensor's numbers lie; 0 for one that has no place of its own, as inside torch.func."""
    try:
        return tensor.untyped_storage().data_ptr()
    except NotImplementedError:
        return 0


class _Saved:
    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


class _Microbatches:
    """An iterator without length; `look` counts how many of the microbatches that it gave are alive."""

    def __init__(self, microbatches: list) -> None:
        self._left = list(microbatches)
        microbatches.clear()
        self._given: list[StorageWeakRef] = []
        self.most_held = 0

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> object:
        if not self._left:
            raise StopIteration
        microbatch = self._left.pop(0)
        first = next(t for t in microbatch if isinstance(t, torch.Tensor))
        self._given.append(StorageWeakRef(first.untyped_storage()))
        return microbatch

    def look(self) -> None:
        self._given = [storage for storage in self._given if not storage.expired()]
        self.most_held = max(self.most_held, len(self._given))
