"""Assignment 6: the broken steps are those of the bank, layouts tell mistakes apart, verdicts say where."""

import ast
import itertools
import json
import re
from pathlib import Path

import pytest
import torch
from test_banks import accepted_keys, load
from torch import nn
from torch.utils.data import DistributedSampler

from autograder import dials, grade
from autograder.exercises import exercises_of
from autograder.exercises.in_the_wild import DIVISORS, WAYS
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.training import models_at
from autograder.reference import per_item_gradients
from autograder.window import UpdateWindow

ROOT = Path(__file__).parents[2]
BANK = ROOT / "tests" / "banks" / "in_the_wild"
EXERCISES = exercises_of("in_the_wild")
REPAIRS = [name for name in EXERCISES if name.startswith("repair_")]
SETTINGS = list(itertools.product(DIVISORS, WAYS, WAYS))


def trials_of(name, kind="all"):
    return drawn_trials(EXERCISES[name], kind, 5)


def verdict_on(name, file, trials="visible"):
    return grade(name, load(BANK / name / f"{file}.py"), trials=trials)


def statements(function: ast.FunctionDef) -> list[str]:
    """The body without the docstring."""
    return [ast.dump(node) for node in function.body
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


# ---- the steps as they are given


def functions_in(folder: str) -> dict[str, ast.FunctionDef]:
    notebook = json.loads((ROOT / folder / "in_the_wild" / "in_the_wild.ipynb").read_text(encoding="utf8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return {node.name: node for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", REPAIRS)
def test_the_broken_step_that_learners_see_is_the_one_in_the_bank(name):
    shown = functions_in("release")[name.replace("repair_", "broken_")]
    (kept,) = (node for node in ast.parse((BANK / name / "wrong_as_given.py").read_text()).body
               if isinstance(node, ast.FunctionDef))
    assert statements(shown) == statements(kept)
    assert [a.arg for a in shown.args.args] == [a.arg for a in functions_in("release")[name].args.args]


GIVEN = {"repair_reduced_loss": "global-divisor-then-mean", "repair_auxiliary_term": "second-term-misweighted",
         "repair_wrapped_sampler": "duplicated-items", "repair_context_count": "wrong-group",
         "repair_expert_gradients": "parameter-groups-differ"}


@pytest.mark.parametrize("name", REPAIRS)
def test_each_broken_step_has_the_one_name_of_its_family(name):
    assert accepted_keys(BANK / name / "wrong_as_given.py") == [GIVEN[name]]


def test_a_wrong_second_term_is_told_with_its_share():
    message = verdict_on("repair_auxiliary_term", "wrong_as_given").message
    assert "The items weigh what they should." in message
    assert re.search(r"second term as a whole weighed \d+ and should weigh 1 \(\d+ parts\)", message), message


def test_a_wrong_expert_is_told_apart_from_the_shared_part():
    message = verdict_on("repair_expert_gradients", "wrong_as_given").message
    assert "model.0.weight: right" in message and re.search(r"expert\d\.0\.weight: (?!right)", message), message


def test_who_did_too_much_of_the_work_is_told():
    message = verdict_on("repair_wrapped_sampler", "wrong_rank_0_does_all").message
    assert re.search(r"Rank 0 forwarded \d+ rows; \d+ examples on \d ranks are at most \d+ for each", message), message


def test_groups_are_named_with_their_counts():
    message = verdict_on("repair_context_count", "wrong_as_given").message
    assert re.search(r"summed over a group of ranks only \(ranks 0 and 2: \d+, ranks 1 and 3: \d+\)", message), message


# ---- weights


def full_rank(trial):
    return not isinstance(trial.expected, Raises)


def scaled_singular_values(gradients):
    return torch.linalg.svdvals(gradients / gradients.norm(dim=1, keepdim=True))


def test_gradients_depend_on_each_other_clearly_or_not_at_all():
    for trial in trials_of("effective_weights"):
        ((update, gradients),) = trial.arguments
        if full_rank(trial):
            values = scaled_singular_values(gradients)
            assert values[-1] > 1e-4 * values[0], trial.name
            residual = (update - trial.expected @ gradients).norm()
            assert residual <= 1e-8 * update.norm(), trial.name
        elif "depend" in trial.expected.why or "only their sum" in trial.expected.why:
            values = scaled_singular_values(gradients)
            assert values[-1] < 1e-12 * values[0], trial.name
        elif "no weighted sum" in trial.expected.why:
            rest = update - torch.linalg.lstsq(gradients.T, update[:, None]).solution[:, 0] @ gradients
            assert rest.norm() > 1e-5 * update.norm(), trial.name


def test_gradients_of_eight_orders_of_size_and_refusals_of_every_kind_occur():
    trials = trials_of("effective_weights")
    spread = [sizes.max() / sizes.min() for trial in trials if full_rank(trial)
              for sizes in [trial.arguments[0][1].norm(dim=1)]]
    assert max(spread) > 1e7
    whys = " ".join(trial.expected.why for trial in trials if not full_rank(trial))
    for word in ("finite", "zero", "equal", "depend", "no weighted sum"):
        assert word in whys


# ---- dials


def fits(trial):
    """The settings that predict the weights of a trial, to ten times the bound and to a tenth of it."""
    ((weights, window),) = trial.arguments
    window = UpdateWindow.from_counts(window["counts"])
    errors = {names: float((dials.predict_weights(dials.Setting(*names), window) / weights - 1).abs().max())
              for names in SETTINGS}
    return ({names for names, error in errors.items() if error < 1e-5},
            {names for names, error in errors.items() if error < 1e-7})


def test_a_trial_has_an_answer_exactly_where_a_setting_fits_and_none_lies_near_the_bound():
    for trial in trials_of("name_the_dials"):
        loose, strict = fits(trial)
        assert loose == strict, trial.name
        assert bool(strict) != isinstance(trial.expected, Raises), trial.name


def test_every_answer_that_fits_is_right_and_no_other():
    for trial in trials_of("name_the_dials"):
        if not isinstance(trial.expected, Raises):
            for names in SETTINGS:
                assert (trial.expected.judge(names) is None) == (names in fits(trial)[1]), (trial.name, names)
                assert (trial.expected.judge(list(names)) is None) == (names in fits(trial)[1])


def test_some_trial_has_several_answers_and_some_has_one():
    numbers = {len(fits(trial)[1]) for trial in trials_of("name_the_dials", "visible")}
    assert 1 in numbers and max(numbers) > 2


# ---- layouts of the repairs


def cases_of(name):
    for trial in trials_of(name):
        if isinstance(trial.expected, Raises):
            continue
        start = torch.cat([p.flatten() for model in trial.expected.models.values() for p in model["parameters"]])
        models = models_at(trial.expected.models, start)
        for call in trial.expected.calls:
            (update,) = call.updates
            yield trial, update, models, per_item_gradients(models, trial.expected.item_losses, *update.batch)


def size(values):
    return float(values.abs().max())


@pytest.mark.parametrize(("name", "key"), [("repair_wrapped_sampler", "duplicated-items"),
                                           ("repair_context_count", "wrong-group"),
                                           ("repair_context_count", "padding-counted"),
                                           ("repair_context_count", "sequence-mean")])
def test_what_an_exercise_is_about_shows_clearly_in_some_trial_and_hides_in_another(name, key):
    away = []
    for trial, update, _, gradients in cases_of(name):
        right = update.window.expected_weights @ gradients
        for setting in dials.catalogue(update.window):
            if dials.diagnosis_key(setting, update.window) == key and not setting.lost_ranks:
                made = dials.predict_weights(setting, update.window) @ gradients
                if made.isfinite().all():
                    bound = TOLERANCE[trial.expected.models["model"]["parameters"][0].dtype] * size(right)
                    away.append(size(made - right) / bound)
    assert max(away) > 100 and not [distance for distance in away if 0.1 < distance < 10]


def test_the_second_term_is_heard_in_every_trial():
    for trial, update, models, gradients in cases_of("repair_auxiliary_term"):
        parameters = list(models.parameters())
        parts = torch.autograd.grad(update.extra(models), parameters, allow_unused=True)
        extra = torch.cat([(torch.zeros_like(p) if g is None else g).flatten()
                           for g, p in zip(parts, parameters, strict=True)])
        assert size(extra) > 100 * TOLERANCE[torch.float32] * size(gradients.mean(0)), trial.name
    shapes = {(len(u.term_window.rank_counts), u.term_window.microbatch_counts[0])
              for _, u, _, _ in cases_of("repair_auxiliary_term")}
    assert any(ranks != steps and steps > 1 and ranks > 1 for ranks, steps in shapes)


def test_ranks_of_a_group_hold_the_same_expert_and_other_groups_another():
    for trial in trials_of("repair_expert_gradients"):
        first = [description["models"]["expert"]["parameters"][0] for (description,) in trial.arguments]
        groups = trial.facts["expert_groups"]
        for group in groups:
            assert all(torch.equal(first[rank], first[group[0]]) for rank in group)
        assert all(not torch.equal(first[a[0]], first[b[0]]) for a, b in itertools.combinations(groups, 2))
    sizes = [sorted(map(len, trial.facts["expert_groups"])) for trial in trials_of("repair_expert_gradients")]
    assert [2, 2] in sizes and any(len(set(each)) > 1 for each in sizes)


def test_fewer_examples_than_ranks_and_empty_columns_occur():
    sampler = [update.window for _, update, _, _ in cases_of("repair_wrapped_sampler")]
    assert any(window.item_count < window.world_size for window in sampler)
    context = [update.window for _, update, _, _ in cases_of("repair_context_count")]
    assert any(len(group) > 1 and not sum(window.rank_counts[rank] for rank in group)
               for window in context for group in window.groups)


# ---- what the quiz says


def test_question_3_adamw_leaves_the_span_of_the_gradients():
    torch.manual_seed(0)
    model = nn.Linear(20, 1, dtype=torch.float64)
    inputs = torch.randn(4, 20, dtype=torch.float64)
    gradients = per_item_gradients(model, lambda m, x: 0.5 * m(x).square().sum(1), inputs)
    before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    (0.5 * model(inputs).square().sum(1)).mean().backward()
    optimizer.step()
    update = (before - nn.utils.parameters_to_vector(model.parameters()).detach()) / 0.1
    rest = update - torch.linalg.lstsq(gradients.T, update[:, None]).solution[:, 0] @ gradients
    assert rest.norm() > 0.1 * update.norm()


def test_question_4_the_first_example_is_dealt_twice():
    dealt = [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in range(2)]
    weights = torch.tensor(sum(dealt, [])).bincount(minlength=5) / (2 * 3)
    torch.testing.assert_close(weights, torch.tensor([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6]))


# ---- readings of their own


def test_examples_that_a_shuffled_sampler_repeats_are_told_one_by_one():
    verdict = verdict_on("repair_wrapped_sampler", "wrong_shuffled")
    assert verdict.diagnosis == "duplicated-items"
    assert re.search(r"Example by example: [12](, [12])* times; each should count once", verdict.message), str(verdict)


def test_parts_of_a_second_term_that_weigh_unequally_are_told():
    verdict = verdict_on("repair_auxiliary_term", "wrong_last_microbatch_only")
    assert re.search(r"its \d+ parts do not weigh the same, 1/\d+ each", verdict.message), str(verdict)


def test_old_gradients_of_the_expert_alone_are_told():
    message = verdict_on("repair_expert_gradients", "wrong_clears_the_shared_part_only").message
    assert "in .grad of the expert" in message, message


def test_a_wrong_setting_is_told_with_an_item_that_it_gets_wrong():
    message = verdict_on("name_the_dials", "wrong_first_item").message
    predicted, measured = re.search(r"weighs ([\d.]+); it weighed ([\d.]+)\.", message).groups()
    assert predicted != measured and "rank 1: 2+3+5" in message
