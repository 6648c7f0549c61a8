"""Recovering effective weights: accuracy, and honesty where the gradients do not tell."""

import pytest
import torch
from strategies import generic_gradients

from autograder.dials import Setting, explain_weights, predict_weights
from autograder.probe_model import ProbeModel, token_losses
from autograder.reference import per_item_gradients
from autograder.weights import recover_weights
from autograder.window import UpdateWindow

ROWS, LENGTH = 16, 17  # 256 items


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Many small operations: a second thread only waits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def probe():
    """A float32 probe model, ids, item gradients and wrong weights of a window with 256 items."""
    torch.manual_seed(1)
    model, ids = ProbeModel(), torch.randint(0, 64, (ROWS, LENGTH))
    window = UpdateWindow.from_counts([[13, 47, 20], [96, 0, 80]])
    weights = predict_weights(Setting("rank", "sum", "mean"), window)
    return model, ids, per_item_gradients(model, token_losses, ids, ids), window, weights


@pytest.mark.parametrize("items", [64, 256])
def test_float64_weights_are_recovered_to_ten_digits(probe, items):
    gradients, weights = probe[2][:items], probe[4][:items]
    recovery = recover_weights(weights @ gradients, gradients)
    assert recovery.is_weighted_sum and recovery.checked and recovery.identifiable.all()
    assert ((recovery.weights - weights) / weights).abs().max() <= 1e-10


def test_float32_weights_are_recovered_to_three_digits_and_named(probe):
    model, ids, gradients, window, weights = probe
    model.zero_grad()
    (token_losses(model, ids, ids) * weights.float()).sum().backward()
    update = torch.cat([p.grad.flatten() for p in model.parameters()])
    recovery = recover_weights(update, gradients)
    worst = ((recovery.weights - weights) / weights).abs().max()
    assert worst <= 1e-3
    assert ((recovery.weights - weights).abs() <= 10 * recovery.error).all()
    assert explain_weights(recovery.weights, window, rtol=1e-3)[0].key == "mean-of-rank-means"


def test_permuting_items_permutes_their_weights(probe):
    gradients, weights = probe[2][:40], probe[4][:40]
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    recovery = recover_weights(weights @ gradients, gradients[order])
    assert torch.allclose(recovery.weights, weights[order], rtol=1e-10)


def test_row_sizes_may_differ_by_many_orders():
    gradients = generic_gradients(5, 20) * torch.tensor([1e-4, 1.0, 1e4, 3.0, 1e-3])[:, None]
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4, 0.5]).double()
    assert torch.allclose(recover_weights(weights @ gradients, gradients).weights, weights, rtol=1e-6)


def test_equal_gradients_have_only_a_common_sum():
    gradients = generic_gradients(5, 20)
    gradients[3] = gradients[1]
    recovery = recover_weights(torch.tensor([1.0, 2, 3, 4, 5]).double() @ gradients, gradients)
    assert recovery.ties == ((1, 3),)
    assert recovery.tie_sums == (pytest.approx(6.0),)
    assert recovery.identifiable.tolist() == [True, False, True, False, True]
    assert recovery.weights[[1, 3]].isnan().all()
    assert torch.allclose(recovery.weights[[0, 2, 4]], torch.tensor([1.0, 3, 5]).double())
    assert "only each set's sum" in str(recovery)


def test_dependent_and_zero_gradients_are_flagged_and_not_guessed():
    gradients = generic_gradients(6, 20)
    gradients[2] = gradients[0] + gradients[1]
    gradients[5] = 0
    recovery = recover_weights(torch.ones(6).double() @ gradients, gradients)
    assert recovery.unidentifiable == (0, 1, 2, 5)
    assert recovery.weights[[0, 1, 2, 5]].isnan().all()
    assert torch.allclose(recovery.weights[[3, 4]], torch.ones(2).double())


def test_parallel_gradients_are_not_ties():
    gradients = generic_gradients(4, 20)
    gradients[3] = 2 * gradients[0]
    recovery = recover_weights(torch.ones(4).double() @ gradients, gradients)
    assert recovery.ties == () and recovery.unidentifiable == (0, 3)


def test_what_is_no_weighted_sum_gets_no_weights():
    gradients = generic_gradients(5, 20)
    recovery = recover_weights(generic_gradients(1, 20, seed=9)[0], gradients)
    assert not recovery.is_weighted_sum
    assert recovery.weights.isnan().all()
    assert "not a weighted sum of this window's gradients" in str(recovery)


def test_without_spare_equations_the_residual_is_said_to_mean_nothing():
    gradients = generic_gradients(5, 5)
    recovery = recover_weights(torch.ones(5).double() @ gradients, gradients)
    assert not recovery.checked and "nothing checks the result" in str(recovery)
    assert torch.allclose(recovery.weights, torch.ones(5).double())


def test_more_items_than_parameters_are_not_guessed_but_groups_are_found():
    window = UpdateWindow.from_counts([[4, 9], [7, 5]])
    gradients = generic_gradients(25, 10)
    weights = predict_weights(Setting("microbatch", "mean", "mean"), window)
    alone = recover_weights(weights @ gradients, gradients)
    assert not alone.identifiable.any()
    grouped = recover_weights(weights @ gradients, gradients, groups=window.item_groups)
    assert grouped.checked and grouped.is_weighted_sum
    assert torch.allclose(grouped.weights, weights)
    assert grouped.group_weights == pytest.approx({0: 1 / 16, 1: 1 / 36, 2: 1 / 28, 3: 1 / 20})


def test_uneven_weights_inside_a_group_show_as_a_residual():
    window = UpdateWindow.from_counts([[4, 9]])
    gradients = generic_gradients(13, 10)
    recovery = recover_weights(generic_gradients(1, 13)[0] @ gradients, gradients, groups=window.item_groups)
    assert not recovery.is_weighted_sum


def test_several_parameter_points_tell_what_one_does_not():
    weights = torch.linspace(0.1, 1, 12).double()
    points = [generic_gradients(12, 5, seed) for seed in range(5)]
    recovery = recover_weights([weights @ g for g in points], points)
    assert recovery.checked and torch.allclose(recovery.weights, weights, rtol=1e-10)


def test_weight_decay_and_momentum_are_nuisance_directions():
    gradients, theta, buffer = generic_gradients(6, 30), *generic_gradients(2, 30, seed=5)
    weights = torch.linspace(0.1, 1, 6).double()
    update = weights @ gradients + 0.01 * theta + 0.9 * buffer
    assert not recover_weights(update, gradients).is_weighted_sum
    recovery = recover_weights(update, gradients, nuisance=torch.stack([theta, buffer]))
    assert torch.allclose(recovery.weights, weights, rtol=1e-10)
    assert torch.allclose(recovery.nuisance, torch.tensor([0.01, 0.9]).double())


def test_a_zero_update_has_zero_weights():
    assert not recover_weights(torch.zeros(20), generic_gradients(5, 20)).weights.any()


@pytest.mark.parametrize("update, gradients, words", [
    (torch.zeros(3), torch.zeros(2, 4), "3 numbers"),
    (torch.full((4,), torch.nan), torch.ones(2, 4), "update hold a NaN"),
    (torch.zeros(4), torch.full((2, 4), torch.inf), "item gradients hold a NaN"),
    (torch.zeros(4), torch.zeros(0, 4), "no item"),
])
def test_bad_input_is_refused(update, gradients, words):
    with pytest.raises(ValueError, match=words):
        recover_weights(update, gradients)
