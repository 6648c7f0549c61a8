"""The update of one process and the gradients of its items."""

import pytest
import torch
from hypothesis import given, settings
from strategies import counts
from torch import nn

from autograder.probe_model import ProbeModel, token_losses
from autograder.reference import per_item_gradients, reference_update


def squared_errors(model, inputs, targets):
    return 0.5 * (model(inputs) - targets).square().sum(-1)


def regression(items: int = 7):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4))
    return model, torch.randn(items, 3), torch.randn(items, 4)


def test_reference_is_the_mean_of_the_item_gradients():
    model, inputs, targets = regression()
    rows = per_item_gradients(model, squared_errors, inputs, targets)
    assert rows.dtype == torch.float64
    assert torch.allclose(reference_update(model, squared_errors, inputs, targets), rows.mean(0), rtol=1e-13)


def test_reference_is_what_autograd_says_of_one_large_batch():
    model, inputs, targets = regression()
    squared_errors(model, inputs, targets).mean().backward()
    plain = torch.cat([p.grad.flatten() for p in model.parameters()])
    assert torch.allclose(reference_update(model, squared_errors, inputs, targets).float(), plain, rtol=1e-4)


def test_sample_weights_are_divided_by_their_sum():
    model, inputs, targets = regression(3)
    rows = per_item_gradients(model, squared_errors, inputs, targets)
    weights = torch.tensor([1.0, 0, 3])
    update = reference_update(model, squared_errors, inputs, targets, sample_weights=weights)
    assert torch.allclose(update, (rows[0] + 3 * rows[2]) / 4, rtol=1e-13)


@settings(max_examples=25, deadline=None)
@given(counts())
def test_merging_the_microbatches_of_a_rank_leaves_the_reference(table):
    model, inputs, targets = regression(sum(map(sum, table)))
    parts = [n for row in table for n in row]
    sums = [per_item_gradients(model, squared_errors, *pair).sum(0)
            for pair in zip(inputs.split(parts), targets.split(parts), strict=True)]
    whole = reference_update(model, squared_errors, inputs, targets)
    assert torch.allclose(torch.stack(sums).sum(0) / len(inputs), whole, rtol=1e-10, atol=1e-14)


def test_the_module_stays_as_it_was():
    model, inputs, targets = regression()
    model[0].weight.grad = torch.ones(5, 3)
    before = [p.detach().clone() for p in model.parameters()]
    per_item_gradients(model, squared_errors, inputs, targets)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert torch.equal(model[0].weight.grad, torch.ones(5, 3))
    assert model[0].weight.dtype == torch.float32


def test_unused_and_frozen_parameters():
    model, inputs, targets = regression()
    model.unused = nn.Parameter(torch.zeros(2))
    model[0].weight.requires_grad_(False)
    losses = lambda m, x, y: squared_errors(nn.Sequential(m[0], m[1], m[2]), x, y)  # noqa: E731
    rows = per_item_gradients(model, losses, inputs, targets)
    assert rows.shape == (7, 2 + 5 + 20 + 4)
    assert not rows[:, :2].any()


def test_gradients_are_taken_even_where_they_are_switched_off():
    model, inputs, targets = regression()
    with torch.no_grad():
        assert per_item_gradients(model, squared_errors, inputs, targets).any()


def test_no_items_have_no_update():
    model, inputs, targets = regression()
    assert per_item_gradients(model, squared_errors, inputs[:0], targets[:0]).shape == (0, 44)
    with pytest.raises(ValueError, match="N = 0"):
        reference_update(model, squared_errors, inputs[:0], targets[:0])
    with pytest.raises(ValueError, match="W = 0"):
        reference_update(model, squared_errors, inputs, targets, sample_weights=torch.zeros(7))
    with pytest.raises(ValueError, match=r"shape \[n\]"):
        reference_update(model, lambda m, x: m(x).mean(), inputs)


def test_probe_model_looks_at_two_tokens_and_the_place():
    torch.manual_seed(0)
    model = ProbeModel(vocabulary=11, width=4, hidden=6)
    ids = torch.randint(0, 11, (2, 5))
    logits = model(ids)
    assert logits.shape == (2, 5, 11)
    changed = ids.clone()
    changed[:, 1] = (ids[:, 1] + 1) % 11
    moved = (model(changed) - logits).abs().amax(-1) > 0
    assert moved.tolist() == [[False, True, True, False, False]] * 2


def test_token_losses_shift_by_one_and_skip_what_is_ignored():
    torch.manual_seed(0)
    model = ProbeModel(vocabulary=11, width=4, hidden=6)
    ids = torch.randint(0, 11, (2, 5))
    labels = ids.clone()
    labels[0, 2] = -100
    losses = token_losses(model, ids, labels)
    assert losses.shape == (7,)
    expected = -model(ids)[1, 3].log_softmax(-1)[ids[1, 4]]
    assert torch.allclose(losses[-1], expected)
