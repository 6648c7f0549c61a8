"""Assignment 4: what its trials show and hide, that mistaken items are told from the right ones, and its stage."""

import re
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from autograder import grade
from autograder.dials import RIGHT, Setting, diagnosis_key, predict_weights
from autograder.exercises import find
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.token_counts import EXERCISES, weights_of_tokens
from autograder.exercises.training import Training, models_at
from autograder.reference import per_item_gradients
from autograder.stages.call import differentiate
from autograder.stages.models import build_model
from autograder.window import UpdateWindow

BANKS = Path(__file__).parents[1] / "banks/token_counts"
WIDE = 100  # times the tolerance
SETTINGS = [Setting(divisor, "sum", ranks) for ranks in ("sum", "mean") for divisor in (
    "nothing", "rank", "window", "padded-rank", "padded-window", "unshifted-rank", "unshifted-window",
    "sequences-rank", "sequences-window", "clamped-ranks")]


@cache
def updates(kind: str, seed: int = 0) -> list:
    """(trial, update, models, item gradients, tolerance) of every update of token_mean_step."""
    found = []
    for trial in drawn_trials(find("token_mean_step"), kind, seed):
        if isinstance(trial.expected, Training):
            training = trial.expected
            parameters = torch.cat([p.flatten() for p in training.models["model"]["parameters"]])
            models = models_at(training.models, parameters)
            for call in training.calls:
                (update,) = call.updates
                gradients = per_item_gradients(models, training.item_losses, *update.batch)
                found.append((trial, update, models, gradients, TOLERANCE[parameters.dtype]))
    return found


def apart(one: torch.Tensor, other: torch.Tensor, tolerance: float) -> float:
    """How far apart two updates lie, in tolerances."""
    return float((one - other).abs().max() / torch.maximum(one.abs().max(), other.abs().max()) / tolerance)


# ---- the layouts

def test_any_two_ways_to_count_are_far_apart_in_some_visible_trial():
    cases = [(u.window, g, t) for _, u, _, g, t in updates("visible")]
    for one, other in combinations([RIGHT, *(s for s in SETTINGS if s != RIGHT)], 2):
        far = max(apart(predict_weights(one, w) @ g, predict_weights(other, w) @ g, t) for w, g, t in cases)
        assert far > WIDE, f"{one} and {other}"


def test_mistaken_items_are_far_from_the_right_ones_and_from_each_other_in_some_visible_trial():
    distances: dict = {}
    for trial, update, models, gradients, tolerance in updates("visible"):
        if trial.world_size not in (2, 3):
            continue
        means = {"right": gradients.mean(0)}
        for other in update.mistaken:
            name = other.words.split(" (")[0].split("All")[0]  # without this trial's numbers
            rows = per_item_gradients(models, trial.expected.item_losses, *other.batch)
            padded = predict_weights(Setting("padded-window", "sum", "sum"), other.window)
            means[name] = rows.mean(0) if name else padded @ rows
        for one, other in combinations(means, 2):
            distances.setdefault((one, other), []).append(apart(means[one], means[other], tolerance))
    assert len(distances) == 9 * 8 // 2  # the right items, five shifts, padding or prompts learnt, all places
    for pair, found in distances.items():
        assert max(found) > WIDE, pair


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_setting_lies_near_a_bound(seed):
    for trial, update, _, gradients, tolerance in updates("all", seed):
        right = update.window.expected_weights @ gradients
        for setting in SETTINGS:
            away = apart(right, predict_weights(setting, update.window) @ gradients, tolerance)
            assert away < 0.1 or away > 10, f"{trial.name}: {setting} is {away:.2g} tolerances away"


def hidden_by(name: str, setting: Setting) -> set[bool]:
    """Whether the setting looks right in each update of the trial of this name."""
    return {apart(u.window.expected_weights @ g, predict_weights(setting, u.window) @ g, t) < 0.1
            for trial, u, _, g, t in updates("all") if trial.name.startswith(name)}


def test_equal_counts_hide_the_mean_of_rank_means_and_masked_prompts_the_count_before_the_shift():
    assert hidden_by("equal counts", Setting("rank", "sum", "mean")) == {True}
    assert hidden_by("masked prompts on all ranks", Setting("unshifted-window", "sum", "sum")) == {True}
    assert hidden_by("a long document", Setting("rank", "sum", "mean")) == {False}
    assert hidden_by("a long document", Setting("unshifted-window", "sum", "sum")) == {False}


@pytest.mark.parametrize("kind", ["visible", "all"])
def test_trials_hold_every_way_to_have_no_token(kind):
    """Ranks without rows, with one position, with every label ignored; and all of them at once, which is an error."""
    batches = [arguments for trial in drawn_trials(find("token_mean_step"), kind, 0)
               for (description,) in trial.arguments for arguments in description["calls"]]
    labels = [labels for _, _, labels, _ in batches]
    assert any(len(own) == 0 for own in labels) and any(own.shape[1] == 1 for own in labels)
    assert any(own.shape[1] > 1 and len(own) and bool((own == -100).all()) for own in labels)
    trials = drawn_trials(find("token_mean_step"), kind, 0)
    assert any(isinstance(trial.expected, Raises) for trial in trials)
    assert {trial.world_size for trial in trials} == {1, 2, 3, 4}


def test_joined_batches_have_the_losses_of_the_ranks_own():
    """The judge puts the ranks' batches into one, padded to one width: no loss of a valid target may change."""
    for trial, update, models, _, _ in updates("all"):
        number = next(n for n, call in enumerate(trial.expected.calls) if call.updates[0] is update)
        own = []
        for (description,) in trial.arguments:
            _, ids, labels, _ = description["calls"][number]
            logits = models["model"](ids)[:, :-1]
            losses = cross_entropy(logits.transpose(1, 2), labels[:, 1:], reduction="none")
            own.append(losses[labels[:, 1:] != -100])
        joined = trial.expected.item_losses(models, *update.batch)
        assert torch.allclose(torch.cat(own), joined, rtol=1e-12, atol=0)
        assert [len(part) for part in own] == list(update.window.rank_counts)


def test_the_model_is_causal_and_takes_batches_without_rows_and_of_one_position():
    (trial, _, models, _, _), *_ = updates("visible")
    model, ids = models["model"], torch.arange(12).reshape(2, 6) % 7
    assert model(ids[:0]).shape == (0, 6, 7) and model(ids[:, :1]).shape == (2, 1, 7)
    changed = ids.clone()
    changed[:, 4:] = 0
    assert torch.equal(model(ids)[:, :4], model(changed)[:, :4])
    assert build_model(trial.expected.models["model"]).vocabulary == 7


def test_every_wrong_count_of_labels_is_named_in_some_visible_trial():
    keys = {reason.key for trial in drawn_trials(find("valid_token_count"), "visible", 0)
            for reason, _ in trial.mistakes}
    assert {"unshifted-count", "padding-counted", "wrong-shift"} <= keys


def test_ranks_and_numbers_of_trials():
    for exercise in EXERCISES:
        visible, every = drawn_trials(exercise, "visible", 0), drawn_trials(exercise, "all", 0)
        assert 7 <= len(visible) <= 9 and len(every) >= len(visible) + 5, exercise.name
    assert {t.world_size for t in drawn_trials(find("reported_loss"), "visible", 0)} == {1, 2, 3, 4, 8}


# ---- the weights of the objectives

@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=4))
def test_weights_of_all_tokens_sum_to_one_and_only_rank_depends_on_who_holds_what(lengths):
    one_rank = [[length for row in lengths for length in row]]
    for objective in ("token", "sequence", "rank"):
        weights = weights_of_tokens(lengths, objective)
        total = sum(w * n for row, own in zip(weights, lengths, strict=True) for w, n in zip(row, own, strict=True))
        assert total == pytest.approx(1.0 if any(map(any, lengths)) else 0.0)
        if objective != "rank":
            assert [w for row in weights for w in row] == weights_of_tokens(one_rank, objective)[0]


def test_objective_weights_are_those_of_the_dials():
    lengths = [[5, 0, 2], [3, 1]]
    window = UpdateWindow.from_lengths(lengths)
    for objective, setting in (("token", RIGHT), ("sequence", Setting("sequences-window")),
                               ("rank", Setting("rank", "sum", "mean"))):
        each = [w for row, own in zip(weights_of_tokens(lengths, objective), lengths, strict=True)
                for w, n in zip(row, own, strict=True) for _ in range(n)]
        assert torch.allclose(torch.tensor(each, dtype=torch.float64), predict_weights(setting, window)), objective


# ---- the stage that differentiates

def differentiated(function, logits=None):
    logits = torch.arange(6.0).reshape(2, 3) if logits is None else logits
    return logits, differentiate(function, (logits, torch.tensor([1, 2])), None)


def test_the_stage_hands_back_gradients_and_leaves_the_argument_of_the_caller_alone():
    logits, record = differentiated(lambda x, _: (x**2).sum())
    assert torch.equal(record["derivatives"][0], 2 * logits) and record["in_graph"]
    assert not logits.requires_grad and logits.grad is None
    assert torch.equal(record["arguments"][0], logits) and record["gradients"] == [None, None]


def test_the_stage_sees_a_value_without_a_graph_a_changed_argument_and_a_backward_inside():
    assert not differentiated(lambda x, _: torch.zeros(()))[1]["in_graph"]
    assert differentiated(lambda x, _: torch.zeros(()))[1]["derivatives"] == [None]

    def changes(x, _):
        total = x.sum()
        with torch.no_grad():
            x.zero_()
        return total

    logits, record = differentiated(changes)
    assert not torch.equal(record["arguments"][0], logits)

    def goes_backward(x, _):
        loss = (x**2).sum()
        loss.backward()
        return loss

    _, record = differentiated(goes_backward)
    assert record["derivative_error"] and isinstance(record["gradients"][0], torch.Tensor)


# ---- what is said

def no_shift_step(ddp_model, input_ids, labels, optimizer):
    import torch.distributed as dist

    count = (labels != -100).sum()
    dist.all_reduce(count)
    optimizer.zero_grad()
    loss = cross_entropy(ddp_model(input_ids).flatten(0, 1), labels.flatten(), reduction="sum")
    (loss * dist.get_world_size() / count.clamp(min=1)).backward()
    optimizer.step()


def test_a_wrong_shift_is_told_with_the_pairs_that_were_learnt():
    verdict = grade("token_mean_step", no_shift_step)
    assert verdict.diagnosis == "wrong-shift"
    assert "label t: nothing was shifted" in verdict.message and "pairs in the window" in verdict.message


def bank(name, file):
    scope: dict = {}
    exec(compile((BANKS / name / f"{file}.py").read_text(), file, "exec"), scope)
    return scope[name]


@pytest.mark.parametrize(("name", "file", "said"), [
    ("token_mean_step", "wrong_batch_size", r"number of sequences, 3, not by the 10 valid targets"),
    ("token_mean_step", "wrong_weighted_by_rows", r"weighted by its share of the sequences"),
    ("token_mean_step", "wrong_softmax_twice", r"the loss of an item what it should be\?\nWhere .* it is \[-?0\.0\d"),
    ("valid_token_count", "wrong_first_row_left_out", r"labels\[1:\], which leaves out the first row"),
    ("token_loss_sum", "wrong_in_bits", r"in bits")])
def test_what_is_told_names_the_mistake_and_shows_where_it_is(name, file, said):
    verdict = grade(name, bank(name, file))
    assert re.search(said, verdict.message), verdict.message


def mean_of_means(local_loss_sum, local_count):
    import torch.distributed as dist

    mean = torch.tensor(float(local_loss_sum) / max(local_count, 1), dtype=torch.float64)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item()


def test_a_reported_loss_that_is_no_objective_is_told_with_the_dials_that_give_it():
    verdict = grade("reported_loss", mean_of_means)
    assert verdict.diagnosis == "mean-of-rank-means"
    assert verdict.message.startswith("The reported loss is not the objective's value")
    assert "own count" in verdict.message and "averaged" in verdict.message


def test_every_setting_that_the_layouts_are_held_to_has_a_name():
    (_, update, _, _, _), *_ = [case for case in updates("visible") if 0 in case[1].window.rank_counts]
    keys = {diagnosis_key(setting, update.window) for setting in SETTINGS}
    assert {None, "mean-of-rank-means", "sum-of-rank-means", "global-divisor-then-mean", "never-divided",
            "divided-by-world-size", "padding-counted", "unshifted-count", "sequence-mean", "clamped-count"} == keys
