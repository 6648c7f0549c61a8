"""Assignment 2: its trials tell mistakes apart and cover the contract's edges; values come first, traffic after."""

import importlib.util
import itertools
import re
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from autograder import grade, run_on_ranks
from autograder.diagnosis import tier
from autograder.exercises import exercises_of
from autograder.exercises.record import Raises, drawn_trials
from autograder.exercises.rules import TOLERANCE
from autograder.exercises.sum_or_mean import _readings, rule_on_ring
from autograder.ranks import wire
from autograder.ranks.ledger import Call
from autograder.ranks.report import RankOutcome
from autograder.stages import gradients

BANK = Path(__file__).parents[1] / "banks" / "sum_or_mean"
EXERCISES = exercises_of("sum_or_mean")
RANKED = [name for name, exercise in EXERCISES.items() if exercise.ranks]


def trials_of(name, kind="all", seed=5):
    return drawn_trials(EXERCISES[name], kind, seed)


def answer(name, file):
    """The function in a file of the bank."""
    spec = importlib.util.spec_from_file_location(f"sum_or_mean_{file}", BANK / name / f"{file}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def apart(one, other, right) -> float:
    """How far two values lie apart, in tolerances: of a plain number, or of float32, the coarsest of a tensor."""
    tolerance = TOLERANCE[torch.float32 if isinstance(right, torch.Tensor) else torch.float64]
    one, other, right = (torch.as_tensor(value, dtype=torch.float64) for value in (one, other, right))
    return float((one - other).abs().max() / right.abs().max()) / tolerance


# ---- layouts


@pytest.mark.parametrize("name", [n for n in EXERCISES if any(trial.mistakes for trial in trials_of(n))])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_named_mistakes_show_clearly_or_not_at_all(name, seed):
    for trial in trials_of(name, "all", seed):
        for reason, value in trial.mistakes:
            distance = apart(value, trial.expected, trial.expected)
            assert distance > 10, f"{trial.name}: {reason.sentence} lies {distance:.2g} tolerances away"


@pytest.mark.parametrize("name", ["mean_all_reduce", "ring_all_reduce"])
def test_mistakes_with_different_names_are_far_apart_in_some_trial(name):
    furthest = {}
    for trial in trials_of(name, "visible"):
        named = [(reason.key, value) for reason, value in trial.mistakes] + [("right", trial.expected)]
        closest = {}
        for (one, first), (other, second) in itertools.combinations(named, 2):
            if one != other and trial.expected.numel():
                pair = frozenset((one, other))
                closest[pair] = min(closest.get(pair, float("inf")), apart(first, second, trial.expected))
        for pair, distance in closest.items():
            furthest[pair] = max(furthest.get(pair, 0.0), distance)
    assert len(furthest) >= 6
    assert min(furthest.values()) > 100, furthest


def reduced_wrongly(trial):
    """(key, gradients of all parameters that have one, in one vector) for each mistake with a name, and "right"."""
    given = [arguments[0]["gradients"] for arguments in trial.arguments]
    places = [place for place, right in enumerate(trial.expected) if right is not None]
    if not places:
        return
    yield "right", torch.cat([trial.expected[place].flatten() for place in places])
    for key, _, reading in _readings(trial, given, trial.arguments[0][1]):
        yield key, torch.cat([reading(0)[place].flatten() for place in places])


def test_ways_to_reduce_gradients_are_far_apart_in_some_visible_trial():
    furthest = {}
    for trial in trials_of("reduce_gradients", "visible"):
        if not isinstance(trial.expected, Raises):
            made = list(reduced_wrongly(trial))
            for (one, first), (other, second) in itertools.combinations(made, 2):
                pair = frozenset((one, other))
                if len(pair) == 2:
                    furthest[pair] = max(furthest.get(pair, 0.0), apart(first, second, made[0][1]))
    keys = {key for pair in furthest for key in pair}
    assert keys == {"right", "missing-synchronization", "sum-of-rank-means", "global-divisor-then-mean",
                    "divided-twice", "active-ranks", "rank-lost"}
    assert min(furthest.values()) > 100, furthest


def test_one_rank_hides_every_mistake_about_ranks():
    for name in ("mean_all_reduce", "ring_all_reduce"):
        alone = [trial for trial in trials_of(name, "visible") if trial.world_size == 1]
        assert alone and not any(reason.key in ("never-divided", "divided-twice", "divided-by-world-size", "rank-lost")
                                 for trial in alone for reason, _ in trial.mistakes)
    (alone,) = [trial for trial in trials_of("reduce_gradients", "visible") if trial.world_size == 1]
    assert {key for key, _ in reduced_wrongly(alone)} == {"right"}


def test_two_ranks_hide_whole_tensors_and_more_ranks_show_them():
    bounds = {(trial.world_size, n): 2 * (trial.world_size - 1) * -(-n // trial.world_size)
              for trial in trials_of("ring_all_reduce", "visible") for n in [trial.facts["elements"]]}
    assert all((size - 1) * n <= most for (size, n), most in bounds.items() if size <= 2)
    assert all((size - 1) * n > most for (size, n), most in bounds.items() if size > 2 and n > size)


# ---- what the trials cover


@pytest.mark.parametrize("name", RANKED)
def test_visible_trials_run_on_every_number_of_ranks(name):
    assert {trial.world_size for trial in trials_of(name, "visible")} == {1, 2, 3, 4, 8}


def test_rings_meet_lengths_that_do_not_divide_are_short_or_zero():
    for kind in ("visible", "all"):
        sizes = [(trial.world_size, trial.facts["elements"]) for trial in trials_of("ring_all_reduce", kind)]
        assert any(n % size for size, n in sizes if n > size > 1)
        assert any(0 < n < size for size, n in sizes) and any(n == 0 for size, n in sizes if size > 1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_integers_overflow_or_have_means_with_a_fraction(seed):
    trials = [trial for trial in trials_of("mean_all_reduce", "all", seed)
              if not trial.arguments[0][0].is_floating_point() and trial.world_size > 1]
    assert {trial.arguments[0][0].dtype for trial in trials} == {torch.uint8, torch.int32, torch.int64}
    overflowing = set()
    for trial in trials:
        stacked = torch.stack([tensor for (tensor,) in trial.arguments])
        exact = [sum(column) for column in zip(*stacked.reshape(len(stacked), -1).tolist(), strict=True)]
        if max(map(abs, exact)) > torch.iinfo(stacked.dtype).max:
            overflowing.add(stacked.dtype)
            assert min(map(abs, exact)) > torch.iinfo(stacked.dtype).max, "every element, so that it shows"
        else:
            assert any(total % len(stacked) for total in exact)
    assert overflowing == {torch.uint8, torch.int32, torch.int64}


def test_gradients_come_in_all_forms_of_the_contract():
    trials = trials_of("reduce_gradients", "visible")
    given = [[arguments[0] for arguments in trial.arguments] for trial in trials]
    assert {own["handed_as"] for ranks in given for own in ranks} >= {"list", "tuple", "generator", "module"}
    columns = [column for ranks in given for column in zip(*(own["gradients"] for own in ranks), strict=True)]
    empty = [sum(gradient is None for gradient in column) for column in columns]
    assert any(0 < none < len(column) for none, column in zip(empty, columns, strict=True))
    assert any(none == len(column) for none, column in zip(empty, columns, strict=True))
    assert any(len({parameter.dtype for parameter in ranks[0]["parameters"]}) > 1 for ranks in given)


# ---- the stage


def test_the_stage_hands_back_what_the_call_left_in_grad():
    def double_first(parameters, word):
        first = next(iter(parameters))
        first.grad = 2 * first.grad if word == "global" else None

    for handed_as in ("list", "tuple", "generator", "dict values", "module"):
        description = {"parameters": [torch.zeros(2), torch.ones(())], "gradients": [torch.ones(2), None],
                       "frozen": [1], "handed_as": handed_as}
        result = gradients.reduce(double_first, (description, "global"), None)
        assert result["gradients"][0].tolist() == [2.0, 2.0] and result["gradients"][1] is None
        assert result["requires_grad"] == [True, False] and result["parameters"][1] == 1.0
    assert gradients.reduce(double_first, (description, "local"), None)["gradients"] == [None, None]


def test_the_stage_keeps_what_a_call_left_that_raised():
    def change_and_raise(parameters, _word):
        parameters[0].grad = None
        raise ValueError

    description = {"parameters": [torch.zeros(2)], "gradients": [torch.ones(2)], "frozen": [], "handed_as": "list"}
    with pytest.raises(ValueError) as caught:
        gradients.reduce(change_and_raise, (description, "sum"), None)
    assert caught.value.collected["gradients"] == [None]


# ---- traffic


def test_a_ring_with_too_much_traffic_is_told_bytes_of_ranks_and_of_the_ideal_ring():
    verdict = grade("ring_all_reduce", answer("ring_all_reduce", "wrong_whole_tensors"))
    assert verdict.diagnosis == "sent-too-much", str(verdict)
    assert "The sum is right, but ranks 0, 1 and 2 sent more" in verdict.message
    assert "Sent: ranks 0, 1 and 2 24 elements = 192 bytes." in verdict.message
    assert "2(P−1)/P·s = 1.333 · 96 = 128 bytes per rank" in verdict.message


def twice_as_much(tensor):
    dist.all_reduce(total := tensor.clone())
    return 2 * total


def test_a_wrong_value_is_told_before_the_way_it_came():
    verdict = grade("ring_all_reduce", twice_as_much)
    assert tier(verdict.diagnosis) < tier("forbidden-operation"), str(verdict)
    assert "twice" in verdict.message or "2 times" in verdict.message


def counted_with_a_maximum(tensor):
    total = tensor.detach().double().clone()
    dist.all_reduce(total)
    size = torch.tensor(float(dist.get_rank() + 1))
    dist.all_reduce(size, op=dist.ReduceOp.MAX)
    return total / size


def test_any_reduction_but_a_sum_is_told_with_its_operation():
    for function, called in ((answer("mean_all_reduce", "wrong_avg"), r"all_reduce\(\d+ float64, avg\)"),
                             (counted_with_a_maximum, r"all_reduce\(1 float32, max\)")):
        verdict = grade("mean_all_reduce", function)
        assert verdict.diagnosis == "forbidden-operation" and re.search(called, verdict.message), str(verdict)


def test_ranks_that_all_send_first_are_told_with_their_calls():
    verdict = grade("ring_all_reduce", answer("ring_all_reduce", "wrong_send_first"))
    assert verdict.diagnosis == "deadlock" and verdict.seconds < 10, str(verdict)
    for rank in (0, 1):
        assert re.search(rf"[Rr]ank {rank} is waiting in send to rank {1 - rank} \(3 float64\)", verdict.message)
    assert "isend" in verdict.message


def test_a_rank_that_skips_a_gradient_is_told_with_its_collective():
    verdict = grade("reduce_gradients", answer("reduce_gradients", "wrong_skips_none"))
    assert verdict.diagnosis in ("deadlock", "mismatched-collectives"), str(verdict)
    assert re.search(r"rank 1 is waiting in all_reduce\(4 float64, sum\), its 2nd collective", verdict.message)


class RefusesToLoad:
    def __reduce__(self):
        return int, ("not a number",)

    def __call__(self, *_):
        raise NotImplementedError


def test_a_function_that_cannot_be_loaded_is_no_fault_of_the_grader():
    verdict = grade("reduce_gradients", RefusesToLoad())
    assert not verdict.passed and verdict.diagnosis in ("raised", "unneeded-error"), str(verdict)


def ring_outcomes(trial, *calls):
    """What ranks report that returned the right sum after these calls each."""
    value = {"value": trial.expected, "arguments": None, "gradients": [None], "requires_grad": [False]}
    return [RankOutcome(rank, "returned", wire.encode({**value, "arguments": trial.arguments[rank]}),
                        calls=[Call(name, elements, "float64", peer=peer(rank)) for name, elements, peer in calls])
            for rank in range(trial.world_size)]


def test_a_ring_is_ruled_by_receivers_sizes_and_kinds_of_calls():
    (trial,) = [trial for trial in trials_of("ring_all_reduce", "visible") if trial.name == "12 elements on 3 ranks"]

    def after(rank):
        return (rank + 1) % 3

    def ruling(*calls):
        return [reason.key for reason in rule_on_ring(trial, ring_outcomes(trial, *calls))]

    step = ("send", 4, after)
    assert ruling(*[step] * 4) == []
    assert ruling(*[step] * 4, ("recv", 4, after), ("barrier", 0, lambda _: None)) == []
    assert ruling(*[step] * 4, ("send", 1, after)) == ["sent-too-much"]
    assert ruling(*[step] * 3) == ["sent-too-little"]
    assert ruling(*[step] * 3, ("send", 4, lambda rank: (rank - 1) % 3)) == ["forbidden-operation"]
    assert ruling(*[step] * 4, ("all_gather", 1, lambda _: None)) == ["forbidden-operation"]


# ---- what the quiz says


def local_mean_then_sum(items):
    update = items.mean()
    dist.all_reduce(update)
    return update.item()


def test_question_1_local_means_that_are_summed_grow_with_the_ranks():
    items = torch.arange(1.0, 9.0, dtype=torch.float64)
    few, many = (run_on_ranks(local_mean_then_sum, [(part,) for part in items.chunk(size)], world_size=size)[0]
                 for size in (2, 8))
    assert many == pytest.approx(4 * few)


def half_of_the_sum(count):
    copy = torch.tensor(count, dtype=torch.int32)
    dist.all_reduce(copy)
    return (copy / 2).item()


def test_question_3_an_integer_sum_wraps_around_without_a_word():
    results = run_on_ranks(half_of_the_sum, [(2147483647,), (1,)], world_size=2, backend="gloo")
    assert list(results) == [-1073741824.0] * 2 and not any(results.output)


def test_question_4_ranks_of_a_ring_with_uneven_chunks_send_different_amounts():
    ring = answer("ring_all_reduce", "right_batched")
    results = run_on_ranks(ring, [(torch.ones(10),)] * 4, world_size=4, backend="gloo")
    sent = [sum(call.elements for call in ledger if call.name == "send") for ledger in results.ledgers]
    assert [len(chunk) for chunk in torch.ones(10).tensor_split(4)] == [3, 3, 2, 2]
    assert set(sent) == {14, 15, 16} and sum(sent) == 60
