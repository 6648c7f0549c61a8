"""One test for a training step: every item of its update weighs what the objective says.

`assert_normalized(train_step)` runs the step on real gloo processes with a probe model and probe data, and
compares the update that each optimizer step made with what every setting of the dials predicts.
"""
from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from autograder.probe.data import ProbeData, ProbeModel
from autograder.probe.log import capture
from autograder.probe.reading import Measurement, measure_steps, require_telling
from autograder.probe.step import Step
from autograder.ranks.launch import pickled_function, run_on_ranks
from autograder.verdict import ItemWeight, Verdict, WrongUpdate

TIMEOUT = 60.0


def assert_normalized(
    train_step: Callable, *, objective: str = "token", world_size: int = 2, accumulation_steps: int = 1,
    model: nn.Module | Callable[[], nn.Module] | None = None, data: ProbeData | None = None,
    item_losses: Callable[..., Tensor] | None = None, sgd_lr: float | None = None,
    timeout: float = TIMEOUT,
) -> list[Measurement]:
    """Raise WrongUpdate, an AssertionError that names the dials, unless every update is right.

    train_step: `train_step(model, data)` is called on every rank of a gloo process group. It trains on
    `data.batches`, this rank's microbatches (or on `data`, the whole data set, if it shards by itself), with an
    optimizer of its own. With accumulation_steps K > 1 there are 2K − 1 microbatches: a full update window and a
    partial one. objective: "token" or "sequence". model: a module, or a function that makes one; the same on every
    rank; by default a float64 `ProbeModel`, called with ids [B, T]. data: other probe data. item_losses and
    sgd_lr as in `capture`. timeout: seconds for the whole run.

    Returns what was measured, one entry per update. Raises NotIdentifiable when the data cannot tell right from
    wrong, and RanksFailed when a rank raises, dies or waits in vain.
    """
    __tracebackhide__ = True  # pytest: the message is the finding
    began = time.monotonic()
    data = data or _uneven_data(world_size, accumulation_steps, objective)
    measured = measure(train_step, objective=objective, model=model, data=data, item_losses=item_losses,
                       sgd_lr=sgd_lr, timeout=timeout)
    name = getattr(train_step, "__name__", type(train_step).__name__)
    if any(one.best.key is not None for one in measured):
        raise WrongUpdate(_verdict(name, measured, time.monotonic() - began))
    require_telling(measured)
    return measured


def measure(
    train_step: Callable, *, objective: str = "token", model: nn.Module | Callable[[], nn.Module] | None = None,
    data: ProbeData, item_losses: Callable[..., Tensor] | None = None, sgd_lr: float | None = None,
    timeout: float = TIMEOUT,
) -> list[Measurement]:
    """What every update of `train_step(model, data)` on `data.world_size` ranks says; see `assert_normalized`.

    Raises WrongUpdate when ranks make no update or different numbers of them.
    """
    ranks, reference = captured(train_step, model=model, data=data, sgd_lr=sgd_lr, timeout=timeout)
    numbers = [len(steps) for steps in ranks]
    if min(numbers) != max(numbers) or not min(numbers):
        raise WrongUpdate(_no_steps(getattr(train_step, "__name__", "train_step"), numbers))
    return measure_steps(ranks, reference, data=data if item_losses is None else None, item_losses=item_losses,
                         objective=objective, sgd_lr=sgd_lr, accumulation_steps=data.accumulation_steps)


def captured(
    train_step: Callable, *, data: ProbeData, model: nn.Module | Callable[[], nn.Module] | None = None,
    sgd_lr: float | None = None, timeout: float = TIMEOUT,
) -> tuple[list[list[Step]], nn.Module]:
    """The optimizer steps of every rank of `train_step(model, data)`, and the model as it was given to them."""
    reference = _made(model)
    given = reference if model is None or isinstance(model, nn.Module) else model
    arguments = (pickled_function(train_step), pickled_function(given), data, sgd_lr)
    results = run_on_ranks(_train_and_tell, [arguments] * data.world_size, world_size=data.world_size,
                           backend="gloo", timeout=timeout)
    return [[Step.from_dict(step) for step in steps] for steps in results], reference


def _train_and_tell(train_step: bytes, model: bytes, data: ProbeData, sgd_lr: float | None) -> list[dict]:
    """On a rank: run the step under `capture`, hand back numbers."""
    import cloudpickle

    module = _made(cloudpickle.loads(model))
    with capture(module, data=data, sgd_lr=sgd_lr) as log:
        cloudpickle.loads(train_step)(module, data)
    return [step.to_dict() for step in log.steps]


def _made(model: nn.Module | Callable[[], nn.Module] | None) -> nn.Module:
    if isinstance(model, nn.Module):
        return copy.deepcopy(model).cpu()  # the ranks are on gloo
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ProbeModel().double() if model is None else model()


def _uneven_data(world_size: int, accumulation_steps: int, objective: str) -> ProbeData:
    """For the sequence mean one sequence is left out, so that ranks and microbatches differ in those, too."""
    data = ProbeData(world_size, accumulation_steps)
    return data if objective == "token" else ProbeData(world_size, accumulation_steps, sequences=len(data) - 1)


def _verdict(name: str, measured: Sequence[Measurement], seconds: float) -> Verdict:
    """About the first wrong update; a later one is told too if its reason is another."""
    wrong = [number for number, one in enumerate(measured) if one.best.key is not None]
    number, one = wrong[0], measured[wrong[0]]
    best, window = one.best, one.window
    weights = one.weights if best.weights.isnan().any() else best.weights
    items = []
    for group in window.item_groups.unique().tolist():
        mine = window.item_groups == group
        first = int(mine.nonzero()[0])
        items.append(ItemWeight(f"microbatch {int(window.item_microbatches[first])}", int(window.item_ranks[first]),
                                int(mine.sum()), float(weights[mine].mean()),
                                float(window.expected_weights[mine].mean())))
    where = f"Update {number + 1} of {len(measured)}: " if len(measured) > 1 else ""
    lines = [f"{where}{best.sentence}", f"Items of each rank's microbatches: {_table(window.counts)}."]
    other = next((n for n in wrong if measured[n].best.key != best.key), None)
    if other is not None:
        later = measured[other].best
        lines.append(f"Update {other + 1} [{later.key}]: {later.sentence.splitlines()[0]}")
    trial = {"name": f"update {number + 1}", "world_size": window.world_size,
             "counts": [list(row) for row in window.counts]}
    return Verdict(name, False, 0.0, best.key, "\n".join(lines), trials=len(measured), seconds=seconds, trial=trial,
                   items=tuple(items))


def _table(counts: Sequence[Sequence[int]]) -> str:
    shown = "; ".join(f"rank {r}: {', '.join(map(str, row)) or 'none'}" for r, row in enumerate(counts[:8]))
    return shown + ("; …" if len(counts) > 8 else "")


def _no_steps(name: str, numbers: Sequence[int]) -> Verdict:
    if not any(numbers):
        return Verdict(name, False, 0.0, "no-update", "No optimizer step was seen: train_step must step a torch.optim "
                       "optimizer that holds the parameters of the model it was given. If a wrapper hides that, train "
                       "with plain SGD and give its learning rate as sgd_lr.")
    return Verdict(name, False, 0.0, "wrong-number-of-steps", "The ranks made different numbers of optimizer steps: "
                   + ", ".join(f"{n} on rank {r}" for r, n in enumerate(numbers)) + ".")
