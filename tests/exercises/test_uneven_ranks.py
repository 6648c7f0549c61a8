"""Assignment 3: its layouts tell mistakes apart, waiting ranks are named with their collectives, its quiz is true."""

import importlib.util
import itertools
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from autograder import dials, grade, run_on_ranks
from autograder.exercises import exercises_of
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.training import models_at, right_update
from autograder.exercises.uneven_ranks import SEVERAL_BUCKETS
from autograder.reference import per_item_gradients
from autograder.window import UpdateWindow

BANK = Path(__file__).parents[1] / "banks" / "uneven_ranks"
EXERCISES = exercises_of("uneven_ranks")
TRAINING = [name for name in EXERCISES if name != "ddp_scale"]


def trials_of(name):
    return drawn_trials(EXERCISES[name], "all", 5)


def answer(name, file):
    """The function in a file of the bank."""
    spec = importlib.util.spec_from_file_location(f"uneven_{file}", BANK / name / f"{file}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def updates_of(trial):
    """(window, item gradients [N, D], dtype) of each update of a trial in which all goes well."""
    training = trial.expected
    start = torch.cat([p.flatten() for p in training.models["model"]["parameters"]])
    parameters = start.double()
    for call in training.calls:
        for update in call.updates:
            models = models_at(training.models, parameters)
            yield update.window, per_item_gradients(models, training.item_losses, *update.batch), start.dtype
            parameters = parameters - training.lr * right_update(training, update, models)


def is_wide(trial):
    return tuple(trial.expected.models["model"]["options"]["sizes"]) == SEVERAL_BUCKETS


# ---- layouts


def plausible(window: UpdateWindow) -> dict:
    """The settings that people write in these exercises, with one microbatch per rank."""
    settings = [s for s in dials.catalogue(window) if s.microbatches == "sum" and not s.lost_ranks
                and s.kept == "every" and s.divisor not in ("microbatch", "rest", "wrapped", "truncated")
                and not s.divisor.endswith("microbatch") and s.items in ("all", "unweighted") and s.ranks != "twice"]
    return {s: dials.predict_weights(s, window) for s in [dials.RIGHT, *settings]}


ELSEWHERE = {"clamped-window": "window", "clamped-rank": "rank", "clamped-ranks": "window"}


def where_it_does_not_bite(setting: dials.Setting) -> dials.Setting:
    """What a step with this setting does in windows that do not offer it: nothing to clamp, no empty rank."""
    if setting.divisor == "clamped-share":
        return dials.RIGHT
    return replace(setting, divisor=ELSEWHERE.get(setting.divisor, setting.divisor),
                   ranks="mean" if setting.ranks == "active" else setting.ranks)


@pytest.mark.parametrize("name", TRAINING)
def test_some_trial_tells_each_plausible_setting_from_right_and_from_each_other(name):
    cases = [case for trial in trials_of(name) if not isinstance(trial.expected, Raises) and not is_wide(trial)
             for case in updates_of(trial)]
    offered = [plausible(window) for window, _, _ in cases]
    settings = list(dict.fromkeys(setting for weights in offered for setting in weights))
    keys = {s: key for weights, (window, _, _) in zip(offered, cases, strict=True) for s in weights
            if (key := dials.diagnosis_key(s, window)) or s == dials.RIGHT}
    apart = dict.fromkeys(itertools.combinations(settings, 2), 0.0)
    for weights, (_, gradients, dtype) in zip(offered, cases, strict=True):
        right = weights[dials.RIGHT] @ gradients
        made = {}
        for setting in settings:
            here = setting if setting in weights else where_it_does_not_bite(setting)
            if here in weights and weights[here].isfinite().all():
                made[setting] = weights[here] @ gradients
        for one, other in itertools.combinations(made, 2):
            error = float((made[one] - made[other]).abs().max() / right.abs().max()) / TOLERANCE[dtype]
            apart[one, other] = max(apart[one, other], error)
    pairs = [pair for pair in apart if keys.get(pair[0]) != keys.get(pair[1])]
    assert len(settings) > 6 and len(pairs) > 15
    assert not [(*map(str, pair), apart[pair]) for pair in pairs if apart[pair] < 100]


@pytest.mark.parametrize("name", TRAINING)
def test_equal_counts_hide_the_mean_of_rank_means(name):
    (trial,) = (trial for trial in trials_of(name) if trial.name.startswith("equal "))
    mistake = dials.Setting("rank", "sum", "mean")
    for window, gradients, _ in updates_of(trial):
        assert len(set(window.rank_counts)) == 1
        difference = dials.predict_weights(mistake, window) @ gradients - window.expected_weights @ gradients
        assert float(difference.abs().max()) < 1e-12 * float(gradients.abs().max())
    assert any(float((dials.predict_weights(mistake, window) - window.expected_weights).abs().max()) > 0.01
               for trial in trials_of(name) if not isinstance(trial.expected, Raises) and trial.world_size > 1
               for window in [update.window for call in trial.expected.calls for update in call.updates]
               if not window.is_weighted or all(window.item_weights > 0))


@pytest.mark.parametrize("name", TRAINING)
def test_every_trial_calls_again_with_the_same_model_and_has_not_two_outputs(name):
    for trial in trials_of(name):
        for (description,) in trial.arguments:
            assert description["models"]["model"]["options"]["sizes"][-1] != 2
            assert len(description["calls"]) >= 2 or isinstance(trial.expected, Raises)


def test_weights_are_tried_that_sum_to_less_than_one_and_to_zero_on_a_rank():
    windows = [update.window for trial in trials_of("weighted_step") if not isinstance(trial.expected, Raises)
               for call in trial.expected.calls for update in call.updates]
    assert any(window.weight_sum < 1 for window in windows)
    by_rank = [(n, float(window.item_weights[window.item_ranks == r].sum()))
               for window in windows for r, n in enumerate(window.rank_counts)]
    assert any(n and not weight for n, weight in by_rank) and any(not n for n, _ in by_rank)


def test_factors_of_all_ranks_add_up_to_the_world_size():
    for trial in trials_of("ddp_scale"):
        if not isinstance(trial.expected, Raises):
            assert math.isclose(sum(trial.expected), trial.world_size)


# ---- hooks


def second_bucket(state, bucket):
    if bucket.index() > 0:
        raise RuntimeError(f"bucket {bucket.index()}")
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(
        lambda done: done.value()[0] / state["item_count"])


def test_a_hook_meets_several_buckets():
    verdict = grade("item_sum_hook", second_bucket)
    assert verdict.diagnosis == "raised" and "bucket 1" in verdict.message, str(verdict)


def test_a_hook_meets_windows_with_other_counts():
    for trial in trials_of("item_sum_hook"):
        counts = [[count for *_, count in description["calls"]] for (description,) in trial.arguments]
        assert len(counts[0]) >= 2 and all(row == counts[0] for row in counts)
        assert len(set(counts[0])) > 1


FUTURES = {"wrong_returns_work": "the hook returned a Work,",
           "wrong_returns_tensor": "the hook returned a tensor of ",
           "wrong_returns_nothing": "the hook returned None,",
           "wrong_future_of_the_collective": "the hook returned a future of a list of 1,",
           "wrong_returns_list_in_future": "the hook returned a future of a list of "}


@pytest.mark.parametrize("file", FUTURES)
def test_a_hook_that_returns_no_future_of_a_tensor_is_told_what_to_return(file):
    verdict = grade("item_sum_hook", answer("item_sum_hook", file))
    assert verdict.diagnosis == "wrong-type" and "ASSERT" not in verdict.message, str(verdict)
    assert FUTURES[file] in verdict.message and "return fut.then(callback)" in verdict.message, str(verdict)


def test_an_exception_in_a_callback_of_a_hook_is_told_in_one_line():
    verdict = grade("item_sum_hook", answer("item_sum_hook", "wrong_callback_divides_the_list"))
    assert re.fullmatch(r"It raised RuntimeError: TypeError: unsupported operand .*'list' and 'int' "
                        r"\(in the callback of a future, line 10\)", verdict.message), str(verdict)


# ---- ranks that wait in vain

WAITS = {
    ("ddp_scale", "wrong_empty_rank_leaves"): r"Ranks? .*waiting in all_reduce\(1 int64, sum\), its 1st collective",
    ("ddp_step", "wrong_empty_rank_leaves"): r"Rank 0 is waiting in all_reduce\(1 int64, sum\), its 1st collective",
    ("ddp_step", "wrong_empty_rank_leaves_after_count"):
        r"Rank 0 is waiting in all_reduce\(15 float64\), its 2nd collective",
    ("ddp_step", "wrong_loss_without_forward"):
        r"Rank 0 is waiting in all_reduce\(15 float64\), its 2nd .*\nRank 1 made its step without a forward pass",
    ("weighted_step", "wrong_weightless_rank_leaves"): r"waiting in all_reduce\(15 float64\), its 2nd collective",
    ("item_sum_hook", "wrong_empty_rank_skips"): r"waiting in all_reduce\(\d+ float64, sum\), its 1st collective",
    ("train_until_exhausted", "wrong_exhausted_rank_leaves"):
        r"Rank 0 is waiting in all_reduce\(1 int64, sum\), its 3rd collective",
    ("train_until_exhausted", "wrong_empty_batch_skipped"):
        r"waiting in all_reduce\(1 int64, sum\), its \w+ collective",
}


@pytest.mark.parametrize(("name", "file"), WAITS, ids=lambda value: value)
def test_who_waits_where_and_who_never_came_is_told(name, file):
    verdict = grade(name, answer(name, file))
    assert verdict.diagnosis in ("deadlock", "missing-forward"), str(verdict)
    assert re.search(WAITS[name, file], verdict.message), str(verdict)
    assert re.search(r"[Rr]anks? \d.* returned and never came", verdict.message), str(verdict)


MISMATCHES = [("weighted_step", "wrong_reduces_weights_themselves"),
              ("train_until_exhausted", "wrong_counts_but_does_not_reduce")]


@pytest.mark.parametrize(("name", "file"), MISMATCHES, ids=lambda value: value)
def test_collectives_that_do_not_match_are_told_with_their_sizes(name, file):
    verdict = grade(name, answer(name, file))
    assert verdict.diagnosis == "mismatched-collectives", str(verdict)
    assert re.search(r"[Rr]ank \d .*all_reduce\(\d+ float64", verdict.message), str(verdict)


def leaves_once(ddp_model, inputs, targets, optimizer):
    total = torch.tensor(len(inputs))
    dist.all_reduce(total)
    first = not hasattr(optimizer, "used")
    optimizer.used = True
    if first and dist.get_rank() == 1:
        return
    optimizer.zero_grad()
    (0.5 * (ddp_model(inputs) - targets).square().sum() * dist.get_world_size() / total).backward()
    optimizer.step()


def test_a_collective_skipped_in_one_call_does_not_pair_with_the_next_call():
    verdict = grade("ddp_step", leaves_once)
    assert verdict.diagnosis == "deadlock", str(verdict)
    assert re.search(r"Rank 0 is waiting in all_reduce\(15 float64\).*rank 1 returned and never came", verdict.message)


def test_calling_the_wrapped_module_is_named():
    verdict = grade("ddp_step", answer("ddp_step", "wrong_bypasses_ddp"))
    assert verdict.diagnosis == "missing-forward" and "forward pass of the DDP model" in verdict.message


# ---- what is told


def test_a_batch_that_is_taken_again_is_told_and_no_clipping():
    for file in ("wrong_cycles_batches", "wrong_repeats_last_batch"):
        verdict = grade("train_until_exhausted", answer("train_until_exhausted", file))
        assert verdict.diagnosis == "duplicated-items" and "clipping" not in verdict.message, str(verdict)
        assert re.match(r"In round 2 rank 1 had no batch left and took one again", verdict.message), str(verdict)


@pytest.mark.parametrize(("name", "file", "counts"), [
    ("item_sum_hook", "wrong_remembers_first_count", r"N = 3 of an earlier update was kept; here N = 2\."),
    ("train_until_exhausted", "wrong_count_of_first_round", r"N = 3 of an earlier update was kept; here N = 1\.")])
def test_a_count_that_was_kept_is_told_with_both_counts(name, file, counts):
    verdict = grade(name, answer(name, file))
    assert verdict.diagnosis == "pure-scale" and re.search(f"Likely cause: {counts}", verdict.message), str(verdict)


@pytest.mark.parametrize(("name", "file", "cause"), [
    ("ddp_step", "wrong_cached_count", "N = 5 of an earlier update was kept"),
    ("ddp_step", "wrong_mean_over_elements", "a mean over the 3 outputs of an item"),
    ("ddp_step", "wrong_mse_loss", "mse_loss, which has no ½"),
    ("weighted_step", "wrong_local_weights_global_items", "rank by rank, 2/8 and 0.316, 6/8 and 0.684")])
def test_a_likely_cause_is_one_that_a_learner_can_find(name, file, cause):
    verdict = grade(name, answer(name, file))
    assert cause in verdict.message and "clipping" not in verdict.message, str(verdict)


def test_what_goes_wrong_everywhere_is_told_about_an_ordinary_trial():
    verdict = grade("train_until_exhausted", answer("train_until_exhausted", "wrong_join"))
    special = [trial.name for trial in trials_of("train_until_exhausted") if trial.special]
    assert {"nothing at all", "a round in which no rank has an item"} < set(special)
    assert verdict.diagnosis == "wrong-number-of-steps" and verdict.trial["name"] not in special, str(verdict)
    assert "made 2 optimizer steps; 3 are right" in verdict.message


def test_weights_are_told_in_numbers_that_one_can_read():
    for file in ("wrong_divides_by_items", "wrong_never_divided", "wrong_epsilon"):
        message = grade("weighted_step", answer("weighted_step", file)).message
        assert not re.search(r"\d{4}/\d|\d/\d{4}", message), message
    assert re.search(r"a divisor of 11\.5281 in place of 11\.5271", message), message


# ---- what the quiz says about this torch


def plain_ddp_gradient(count):
    model = nn.parallel.DistributedDataParallel(nn.Linear(7, 1, bias=False).double())
    rows = torch.eye(7, dtype=torch.float64)[sum((5, 0, 2)[:dist.get_rank()]):][:count]
    loss = model(rows).mean()
    loss.backward()
    return loss.item(), model.module.weight.grad.flatten()


def test_question_1_the_mean_over_no_rows_has_a_nan_loss_and_a_zero_gradient():
    results = run_on_ranks(plain_ddp_gradient, [(5,), (0,), (2,)], world_size=3)
    assert math.isnan(results[1][0])
    for _, weights in results:
        torch.testing.assert_close(weights, torch.tensor([1 / 15] * 5 + [1 / 6] * 2, dtype=torch.float64))


def test_question_2_only_weights_that_are_all_zero_make_a_nan_gradient():
    def gradient(loss_of, rows):
        layer = nn.Linear(3, 4)
        loss_of(layer(torch.ones(rows, 3))).backward()
        return layer.weight.grad

    assert not gradient(lambda out: out.sum(1).mean(), 0).any()
    assert not gradient(lambda out: out.sum(1).sum(), 0).any()
    weights = torch.zeros(2)
    assert gradient(lambda out: (weights * out.sum(1)).sum() / weights.sum(), 2).isnan().all()
    ignored = torch.full((2,), -100)
    assert not gradient(lambda out: nn.functional.cross_entropy(out, ignored), 2).any()


def momentum():
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    after = []
    for step in range(2):
        weight.grad = torch.tensor([1.0, 2.0])
        if not (step == 0 and dist.get_rank() == 1):
            optimizer.step()
        if step == 0:
            dist.broadcast(weight.data, src=0)
        after.append(weight.detach().clone())
    return after


def test_question_5_replicas_part_in_the_step_after_the_one_that_was_skipped():
    (first, second), (other_first, other_second) = run_on_ranks(momentum, world_size=2)
    assert torch.equal(first, other_first) and not torch.allclose(second, other_second)
