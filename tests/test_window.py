"""Counts, item order and errors of an update window."""

import pytest
import torch
from hypothesis import given
from strategies import counts

from autograder.window import UpdateWindow


@given(counts())
def test_counts_come_back_as_they_were_given(table):
    window = UpdateWindow.from_counts(table)
    assert window.counts == tuple(map(tuple, table))
    assert window.rank_counts == tuple(map(sum, table))
    assert window.item_count == sum(map(sum, table)) == len(window.item_ranks)
    assert window.world_size == len(table)
    assert window.microbatch_counts == tuple(map(len, table))
    assert window.accumulation_steps == max(map(len, table))
    assert window.weight_sum == window.item_count


@given(counts())
def test_expected_weights_are_equal_and_sum_to_one(table):
    expected = UpdateWindow.from_counts(table).expected_weights
    assert torch.allclose(expected, torch.full_like(expected, 1 / len(expected)))


def test_one_number_per_rank_means_one_microbatch_each():
    assert UpdateWindow.from_counts([2, 0, 6]).counts == ((2,), (0,), (6,))
    assert UpdateWindow.from_counts(torch.tensor([2, 0, 6])).counts == ((2,), (0,), (6,))


def test_items_are_listed_by_rank_then_microbatch():
    window = UpdateWindow.from_counts([[1, 2], [0, 1]])
    assert window.item_ranks.tolist() == [0, 0, 0, 1]
    assert window.item_microbatches.tolist() == [0, 1, 1, 1]
    assert window.item_groups.tolist() == [0, 1, 1, 3]


def test_padding_takes_slots_but_is_no_item():
    window = UpdateWindow.from_counts([[2], [1]], padding=[[0], [3]])
    assert window.counts == ((2,), (1,))
    assert window.slot_counts == ((2,), (4,))
    assert window.item_count == 3
    assert window.item_slots.tolist() == [0, 1, 2]


def test_sample_weights_replace_the_count():
    window = UpdateWindow.from_counts([2, 1], sample_weights=[[1.0, 2.0], [5.0]])
    assert window.weight_sum == 8
    assert window.expected_weights.tolist() == [1 / 8, 2 / 8, 5 / 8]


def test_copies_of_an_example_share_the_weight_of_one():
    window = UpdateWindow.from_counts([2, 2], examples=[[0, 1], [2, 0]])
    assert window.item_count == 4
    assert torch.allclose(window.expected_weights, torch.tensor([1 / 6, 1 / 3, 1 / 3, 1 / 6]).double())


def test_labels_are_counted_after_the_shift_and_without_ignored_ones():
    labels = torch.tensor([[5, 6, -100, 7], [-100, -100, 1, 2]])
    window = UpdateWindow.from_labels([[labels], [labels[:1]]])
    assert window.counts == ((4,), (2,))
    assert window.slot_counts == ((6,), (3,))
    assert window.unshifted_counts == ((5,), (3,))
    assert UpdateWindow.from_labels([[labels]], shift=False).counts == ((5,),)


def test_any_token_id_may_be_the_ignored_one():
    labels = torch.tensor([[5, 0, 0, 7]])
    assert UpdateWindow.from_labels([[labels]], ignore_index=0).counts == ((1,),)


def test_a_mask_row_is_a_sequence():
    window = UpdateWindow.from_masks([[torch.tensor([[True, False], [True, True]])]])
    assert window.counts == ((3,),)
    assert [window.sequence[i] for i in window.item_slots] == [0, 1, 1]


def test_lengths_give_sequences_and_empty_ones_hold_nothing():
    window = UpdateWindow.from_lengths([[2, 0, 1], [3]])
    assert window.counts == ((3,), (3,))
    assert window.sequence == (0, 0, 2, 0, 0, 0)


def test_batches_of_a_data_loader_are_counted():
    rows = torch.utils.data.TensorDataset(torch.randn(5, 3), torch.randn(5, 2))
    loader = torch.utils.data.DataLoader(rows, batch_size=2)
    assert UpdateWindow.from_batches([loader, []]).counts == ((2, 2, 1), ())
    tokens = [{"input_ids": torch.ones(2, 4).long(), "labels": torch.tensor([[1, 2, 3, -100]] * 2)}]
    assert UpdateWindow.from_batches([tokens]).counts == ((4,),)


def test_slots_may_come_in_any_order():
    window = UpdateWindow(rank=(1, 0, 1), microbatch=(0, 1, 0), world_size=3, microbatch_counts=(2, 1, 0))
    assert window.counts == ((0, 1), (2,), ())


@pytest.mark.parametrize("make, words", [
    (lambda: UpdateWindow.from_counts([0, 0]), "N = 0"),
    (lambda: UpdateWindow.from_counts([]), "empty"),
    (lambda: UpdateWindow.from_counts([2, -1]), "negative"),
    (lambda: UpdateWindow.from_counts([2, 1.5]), "not an integer"),
    (lambda: UpdateWindow.from_counts([[2], 1]), "mixes"),
    (lambda: UpdateWindow.from_counts([[2], [True]]), "integers"),
    (lambda: UpdateWindow.from_counts([2, 1], padding=[[0, 1], [0]]), "shape of counts"),
    (lambda: UpdateWindow.from_counts([2], sample_weights=[[1.0]]), "one entry per item"),
    (lambda: UpdateWindow.from_counts([2], sample_weights=[[0.0, 0.0]]), "W = 0"),
    (lambda: UpdateWindow.from_counts([2], sample_weights=[[1.0, -1.0]]), "not negative"),
    (lambda: UpdateWindow.from_counts([2], sample_weights=[[1.0, float("nan")]]), "finite"),
    (lambda: UpdateWindow.from_counts([2, 1], groups=((0,),)), "each of the 2 ranks once"),
    (lambda: UpdateWindow.from_counts([2], accumulation_steps=0), "at least 1"),
    (lambda: UpdateWindow(rank=(0, 1), microbatch=(0,)), "one entry per slot"),
    (lambda: UpdateWindow(rank=(0, 3), world_size=2), "does not exist"),
    (lambda: UpdateWindow(rank=(0,), microbatch=(2,), microbatch_counts=(1,)), "microbatch 2 of only 1"),
    (lambda: UpdateWindow.from_labels([[torch.tensor([1, 2])]]), r"give \[B, T\]"),
    (lambda: UpdateWindow.from_labels([[torch.full((2, 4), -100)]]), "N = 0"),
    (lambda: UpdateWindow.from_batches([[{"ids": 1}]]), "labels"),
])
def test_nonsense_is_refused_with_what_was_wrong(make, words):
    with pytest.raises(ValueError, match=words):
        make()
