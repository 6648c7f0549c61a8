"""Wrong steps on real DDP models are named as they should be, at every P and K, in both dtypes."""

import pytest
import torch
from misconceptions import STEPS, layout, run_steps, window_of

from autograder import run_on_ranks
from autograder.dials import explain_update
from autograder.exercises.training import models_at, squared_losses
from autograder.reference import per_item_gradients
from autograder.stages.models import describe_model

SIZES, TOLERANCE = [5, 4, 3], {torch.float64: 1e-6, torch.float32: 2e-4}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("world_size", [2, 3, 4])
def test_each_wrong_step_is_named(world_size, dtype):
    generator = torch.Generator().manual_seed(world_size)
    model = describe_model("layers", {"sizes": SIZES}, generator, dtype)
    jobs = [(k, name) for k in (1, 2, 3) for name, step in STEPS.items() if world_size > 2 or not step.empty_rank]
    items = [[[(torch.randn(n, SIZES[0], generator=generator, dtype=torch.float64).to(dtype),
                (torch.randn(n, SIZES[-1], generator=generator, dtype=torch.float64) + 2 * r - k).to(dtype))
               for k, n in enumerate(row)] for r, row in enumerate(layout(STEPS[name], world_size, microbatches))]
             for microbatches, name in jobs]
    results = run_on_ranks(run_steps, [(model, items, jobs)] * world_size, world_size=world_size, backend="gloo",
                           timeout=100)
    models = models_at({"model": model}, torch.cat([p.flatten() for p in model["parameters"]]))
    wrong = []
    for (microbatches, name), table, update in zip(jobs, items, results[0], strict=True):
        step = STEPS[name]
        batch = [torch.cat([pair[i] for row in table for pair in row]) for i in (0, 1)]
        gradients = per_item_gradients(models, squared_losses, *batch)
        found = explain_update(update, gradients, window_of(step, world_size, microbatches), TOLERANCE[dtype])
        told = [entry.key for entry in found]
        # where K ranks are averaged nothing tells them from K microbatches: the right name must be among those that fit
        averaged = world_size - step.empty_rank
        if step.expected(microbatches) not in (told if averaged == microbatches else told[:1]):
            wrong.append((name, microbatches, step.expected(microbatches), told))
    assert not wrong, "\n".join(map(str, wrong))


def test_the_bank_is_large_enough():
    assert sum(step.key is not None for step in STEPS.values()) * 3 * 3 >= 60
