"""Probe data: identifiable, uneven, and the same for every sampler."""

import pytest
import torch

from autograder.probe import ProbeData, ProbeModel, token_losses
from autograder.reference import per_item_gradients
from autograder.weights import recover_weights


def counts(data):
    return [[int((batch["labels"][:, 1:] != -100).sum()) for batch in data.batches_of(rank)]
            for rank in range(data.world_size)]


@pytest.mark.parametrize("world_size, accumulation_steps", [(2, 1), (2, 2), (2, 3), (3, 2), (4, 1)])
def test_ranks_and_microbatches_differ_and_none_is_empty(world_size, accumulation_steps):
    table = counts(ProbeData(world_size, accumulation_steps))
    assert all(n > 0 for row in table for n in row)
    full = [row[:accumulation_steps] for row in table]
    assert len({sum(row) for row in full}) > 1
    assert accumulation_steps == 1 or any(len(set(row)) > 1 for row in full)
    assert {len(row) for row in table} == {2 * accumulation_steps - 1}


def test_batches_deal_the_data_set_out_once():
    data = ProbeData(3, 2)
    rows = [row for rank in range(3) for batch in data.batches_of(rank) for row in data.rows_of(batch["input_ids"])]
    assert sorted(rows) == list(range(len(data)))


def test_rows_are_known_padded_trimmed_or_cut():
    data = ProbeData(2)
    ids = data.input_ids[[2, 0]]
    assert data.rows_of(ids) == data.rows_of(ids[:, :-1]) == [2, 0]
    with pytest.raises(ValueError, match="no sequence of the probe data"):
        data.rows_of(torch.flip(ids, [1]))


def test_every_token_of_the_probe_can_be_told():
    data = ProbeData(2, 3)
    torch.manual_seed(0)
    targets = torch.nn.functional.pad(data.labels[:, 1:], (0, 1), value=-100)
    gradients = per_item_gradients(ProbeModel(), token_losses, data.input_ids, targets)
    recovery = recover_weights(torch.ones(len(gradients)).double() @ gradients, gradients)
    assert recovery.identifiable.all() and recovery.checked
    assert recovery.condition < 100 and gradients.shape[1] > 4 * len(gradients)


def test_more_sequences_than_tokens_are_refused():
    with pytest.raises(ValueError, match="larger vocabulary"):
        ProbeData(8, 4)
