"""Assignment 5: layouts show every mistake, meters say what was too many, the quiz is true."""

import ast
import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
import torch

from autograder import UpdateWindow, grade
from autograder.dials import Setting, predict_weights
from autograder.exercises import exercises_of, find
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.training import Training, models_at, right_update
from autograder.reference import per_item_gradients

ROOT = Path(__file__).resolve().parents[2]
SINGLE = ("accumulate_item_mean", "ddp_accumulate", "accumulate_then_divide", "clip_then_step")
WIDE = 100  # times the tolerance
SEEDS = (0, 1, 7)


def trials_of(name: str, kind: str = "visible", seed: int = 0) -> list:
    return drawn_trials(find(name), kind, seed)


class Case(NamedTuple):
    """One expected update: what is right at the parameters before it, and other updates that have a name."""

    trial: object
    update: object
    norm: float  # of the gradient before clipping
    right: torch.Tensor
    others: list  # pairs (reason, update [D])
    tolerance: float


@cache
def cases_of(name: str, kind: str = "visible", seed: int = 0) -> list[Case]:
    """The expected updates of an exercise, each at the parameters that the right ones before it lead to."""
    found = []
    for trial in trials_of(name, kind, seed):
        if not isinstance(trial.expected, Training):
            continue
        training = trial.expected
        own = training.models["model"]["parameters"]
        at, tolerance = torch.cat([p.flatten() for p in own]).double(), TOLERANCE[own[0].dtype]
        for update in [update for call in training.calls for update in call.updates]:
            models = models_at(training.models, at)
            right = right_update(training, update, models)
            norm = float(right_update(training, replace(update, clip_to=None), models).norm())
            gradients = per_item_gradients(models, training.item_losses, *update.batch)
            others = list(update.alternatives(gradients)) if update.alternatives else []
            found.append(Case(trial, update, norm, right, others, tolerance))
            at = at - training.lr * right
    return found


def apart(one: torch.Tensor, other: torch.Tensor, tolerance: float) -> float:
    return float((one - other).abs().max() / torch.maximum(one.abs().max(), other.abs().max()) / tolerance)


# ---- clipping


@pytest.mark.parametrize("seed", SEEDS)
def test_norms_are_so_large_that_the_constant_of_clip_grad_norm_does_not_show(seed):
    assert min(case.norm for case in cases_of("clip_then_step", "all", seed)) >= 30


@pytest.mark.parametrize("seed", SEEDS)
def test_some_updates_are_clipped_some_are_not_and_no_norm_lies_near_max_norm(seed):
    shares = [case.norm / case.update.clip_to for case in cases_of("clip_then_step", "all", seed)]
    assert any(share > 1 for share in shares) and any(share < 1 for share in shares)
    assert all(share > 1.1 or share < 0.9 for share in shares)


def test_every_other_way_to_clip_is_right_or_clearly_off_and_off_somewhere():
    cases = cases_of("clip_then_step")
    assert len({len(case.others) for case in cases}) == 1
    for way, (reason, _) in enumerate(cases[0].others):
        distances = [apart(case.others[way][1], case.right, case.tolerance) for case in cases]
        assert max(distances) > WIDE, reason
        assert all(away < 0.1 or away > 10 for away in distances), reason


def test_readings_of_a_clipped_update_with_different_keys_are_told_apart():
    cases = cases_of("clip_then_step")
    keys = [reason.key for reason, _ in cases[0].others]
    assert set(keys) == {"clipped-wrongly", "clipped-before-normalizing", "stale-gradients"}
    for one, other in combinations(range(len(keys)), 2):
        if keys[one] != keys[other]:
            distances = [apart(case.others[one][1], case.others[other][1], case.tolerance) for case in cases]
            assert max(distances) > WIDE, (cases[0].others[one][0], cases[0].others[other][0])


def test_somewhere_the_clip_hides_a_forgotten_factor_so_that_only_the_returned_norm_shows_it():
    cases = [case for case in cases_of("clip_then_step") if case.trial.world_size > 1]
    assert any(case.norm / case.trial.world_size > case.update.clip_to for case in cases)
    assert any(case.norm / case.trial.world_size < case.update.clip_to for case in cases)


# ---- layouts


@pytest.mark.parametrize("name", [*SINGLE[1:], "train_windows"])
@pytest.mark.parametrize("kind", ["visible", "all"])
def test_layouts_cover_what_the_contract_speaks_of(name, kind):
    trials = trials_of(name, kind)
    assert {trial.world_size for trial in trials} == {1, 2, 3, 4}
    windows = [case.update.window for case in cases_of(name, kind)]
    assert any(0 in window.microbatch_counts for window in windows), "a rank without microbatches"
    assert any(len(set(window.microbatch_counts)) > 1 for window in windows), "unequal K"
    assert any(0 in row for window in windows for row in window.counts), "an empty microbatch"
    dtypes = {trial.expected.models["model"]["parameters"][0].dtype for trial in trials
              if isinstance(trial.expected, Training)}
    assert dtypes == {torch.float64, torch.float32}


@pytest.mark.parametrize("name", SINGLE)
def test_a_window_without_items_is_an_error_in_functions_of_one_update(name):
    due = [trial for trial in trials_of(name)
           if isinstance(trial.expected, Raises) or trial.expected.error is not None]
    assert due and all(trial.expected.error is ValueError for trial in due)


def test_visible_windows_end_partially_and_lists_hold_empty_microbatches_before_others():
    windows = [case.update.window for case in cases_of("train_windows")]
    assert any(max(window.microbatch_counts) < window.accumulation_steps for window in windows)
    shifts = [row for trial in trials_of("train_windows") for row in trial.arguments[0][0]["calls"][0][1:2]
              if any(not len(x) and any(len(later) for later, _ in row[k:]) for k, (x, _) in enumerate(row))]
    assert shifts, "without the empty ones the next window begins elsewhere"


def test_a_full_windows_divisor_on_a_partial_window_is_far_from_right():
    partial = [case for case in cases_of("train_windows") if case.others]
    assert partial
    for case in partial:
        assert all(apart(update, case.right, case.tolerance) > WIDE for _, update in case.others), case.trial.name


def test_counts_exceed_what_narrow_dtypes_hold_and_stay_exact_in_float64():
    rights = [trial.expected for kind in ("visible", "all") for trial in trials_of("window_item_count", kind)]
    assert any(right > 2**31 for right in rights) and max(rights) < 2**53 and 0 in rights
    lost = [right for right in rights if int(torch.tensor(float(right), dtype=torch.float32)) != right]
    assert lost
    assert {trial.world_size for trial in trials_of("window_item_count")} == {1, 2, 3, 4, 8}


# ---- what verdicts say


def of_bank(name: str, file: str) -> object:
    scope: dict = {}
    exec(compile((ROOT / "tests/banks/accumulation" / name / f"{file}.py").read_text(), file, "exec"), scope)
    return scope[name]


@pytest.mark.parametrize(("name", "file", "said"), [
    ("ddp_accumulate", "wrong_padded_without_no_sync", r"sent 104 elements \(in calls of 1, 1, 51, 51\) for 1 update"),
    ("ddp_accumulate", "wrong_padded_without_no_sync", r"its 4th call, all_reduce\(51 float64\), was one too many"),
    ("ddp_accumulate", "wrong_losses_together", r"forward 4 of rank 0 began, \d+ saved activations"),
    ("accumulate_item_mean", "wrong_concatenates", r"passed 9 rows .* hold 3, 3 and 3"),
    ("accumulate_then_divide", "wrong_makes_a_list", r"held 3 microbatches at a time; at most 2"),
    ("window_item_count", "wrong_object_gather", r"all_gather\(1 int64\) and all_gather\(\d+ uint8\): 2 collectives"),
    ("clip_then_step", "wrong_not_clipped", r"norm \d+\.?\d*, and max_norm is \d+\.?\d*, but nothing was clipped"),
    ("clip_then_step", "wrong_limit_divided_by_ranks", r"P = 2 times the gradient was compared with it"),
    ("clip_then_step", "wrong_norms_added", r"compared with \d+\.\d+: the squares of 2 norms were added"),
    ("train_windows", "wrong_scaled_for_a_full_window", r"weighed 1/2 of its share: the window has 1 of at most 2"),
])
def test_verdict_says_what_was_too_many(name, file, said):
    verdict = grade(name, of_bank(name, file))
    assert re.search(said, verdict.message), verdict.message


@pytest.mark.parametrize(("name", "file", "said"), [
    ("train_windows", "wrong_count_of_the_epoch", r"Likely cause: a divisor of 18 in place of 12"),
    ("accumulate_then_divide", "wrong_count_never_reset", r"Likely cause: a divisor of 12 in place of 4"),
    ("accumulate_item_mean", "wrong_mean_over_elements", r"Likely cause: .*a mean over the 3 outputs of an item"),
    ("train_windows", "wrong_cached_share", r"an earlier update \(3/9, 6/9\), not with that of this one \(2/8, 6/8\)"),
    ("accumulate_item_mean", "wrong_divides_in_the_loop", r"weighed 1/729 and .* each should weigh 1/9")])
def test_a_wrong_weight_is_told_with_what_is_behind_it_in_every_trial(name, file, said):
    """In one trial alone 2/3 may be mse_loss over three outputs, or 12 items in place of 18."""
    verdict = grade(name, of_bank(name, file))
    assert re.search(said, verdict.message), verdict.message


def test_what_is_reduced_again_is_not_taken_for_what_stood_in_grad_before():
    verdict = grade("ddp_accumulate", of_bank("ddp_accumulate", "wrong_reduces_each_time"), trials="all")
    assert verdict.diagnosis == "extra-synchronization", verdict.message


def test_a_name_left_over_from_the_turn_before_holds_no_microbatch():
    verdict = grade("accumulate_then_divide", of_bank("accumulate_then_divide", "right_names_left_over"))
    assert verdict.passed, verdict


# ---- the notebook


def quiz_keys() -> dict[str, str]:
    cells = nbformat.read(ROOT / "source/accumulation/accumulation.ipynb", 4).cells
    found = {}
    for cell in cells:
        for call in ast.walk(ast.parse(cell.source)) if cell.cell_type == "code" else ():
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check_choice" and call.keywords:
                found[call.args[0].value] = next(k.value.value for k in call.keywords if k.arg == "key")
    return found


def test_quiz_answers_are_what_the_dials_say():
    keys = quiz_keys()
    window = UpdateWindow.from_counts([[1, 4, 0], [2, 3, 5]])
    first = float(predict_weights(Setting("microbatch", "mean", "mean"), window)[0])
    assert {"A": 1 / 15, "B": 1 / 10, "C": 1 / 6, "D": 1 / 3}[keys["accumulation_q1"]] == pytest.approx(first)
    last = UpdateWindow.from_counts([[3], [3]], accumulation_steps=2)
    share = predict_weights(Setting("microbatch", "configured", "mean"), last) * last.item_count
    assert share.tolist() == [0.5] * 6 and keys["accumulation_q2"] == "B"
    assert 80 * min(1, 5 / 80) / 40 == 0.125 and (80 / 40) * min(1, 5 / 2) == 2 and keys["accumulation_q3"] == "D"
    sums_under_ddp = predict_weights(Setting("nothing", "sum", "mean"), window)
    assert torch.allclose(sums_under_ddp * window.world_size / window.item_count, window.expected_weights)
    assert keys["accumulation_q4"] == "A"


def test_points_and_exercises_of_the_notebook_are_those_of_the_course():
    cells = nbformat.read(ROOT / "source/accumulation/accumulation.ipynb", 4).cells
    graded = [cell.metadata.nbgrader.grade_id for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [name for name in graded if name in exercises_of("accumulation")] == list(exercises_of("accumulation"))
