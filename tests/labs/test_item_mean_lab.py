"""The lab of lesson 1: its numbers are those of the lesson, and the picture follows every slider."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import headline, numbers

from autograder.labs import item_mean
from autograder.labs.item_mean import STATES, State, lab, table

LESSON = Path(__file__).parents[2] / "notebooks" / "1_item_mean.ipynb"

ranks = st.lists(st.tuples(st.integers(0, 12), st.integers(-6, 6)), min_size=1, max_size=4)
states = ranks.filter(lambda rows: any(n for n, _ in rows)).map(
    lambda rows: State(tuple(n for n, _ in rows), tuple(float(mean) for _, mean in rows))
)


def items(state: State) -> torch.Tensor:
    """The gradients of all items, every item of a rank with the rank's mean."""
    return torch.tensor([mean for n, mean in zip(state.counts, state.means, strict=True) for _ in range(n)])


def test_worked_example_has_the_numbers_of_the_lesson():
    state = STATES["worked example"]
    assert (state.item_mean, state.scales) == (2.5, (0.5, 1.5))
    assert state.rank_mean == pytest.approx(2.0)
    assert state.rank_mean_weights == pytest.approx((1 / 4, 1 / 12))


@settings(deadline=None)
@given(states)
def test_item_mean_is_the_mean_of_the_items(state):
    assert state.item_mean == pytest.approx(items(state).mean().item(), abs=1e-5)


@settings(deadline=None)
@given(states)
def test_scales_turn_a_mean_over_ranks_into_the_item_mean(state):
    scaled = [c * mean for c, mean in zip(state.scales, state.means, strict=True)]
    assert sum(scaled) / state.world_size == pytest.approx(state.item_mean)


@settings(deadline=None)
@given(states)
def test_mean_of_rank_means_divides_by_every_rank_and_skips_none_with_items(state):
    local_means = [mean if n else 0.0 for n, mean in zip(state.counts, state.means, strict=True)]
    assert state.rank_mean == pytest.approx(sum(local_means) / len(local_means))


@settings(deadline=None)
@given(states)
def test_finding_claims_agreement_exactly_when_the_means_agree(state):
    agree = abs(state.rank_mean - state.item_mean) < 1e-9
    assert ("both means are" in state.finding.lower()) == agree


@settings(deadline=None, max_examples=30)
@given(states)
def test_every_state_can_be_drawn(state):
    for r, weight in enumerate(state.rank_mean_weights):
        assert bars(lab(state), r) == pytest.approx([weight] if weight else [], rel=0.02, abs=0.002)


def bars(shown, rank: int) -> list[float]:
    """What one item of this rank weighs, as drawn: the largest weight and the share 1/N are 112.7 points high."""
    largest = max(*shown.state.rank_mean_weights, 1 / shown.state.item_count)
    return [height * 1.1 * largest / 124 for height in numbers(shown, f"weight on rank {rank}", "height")]


def test_lab_starts_with_the_worked_example():
    widget = lab()
    assert widget.state == STATES["worked example"]
    assert "20 % too short" in headline(widget)
    assert bars(widget, 0) + bars(widget, 1) == pytest.approx([1 / 4, 1 / 12], rel=0.01)


def test_a_slider_moves_the_picture():
    widget = lab()
    widget._counts[0].value = 6
    assert "Equal counts" in headline(widget)
    assert bars(widget, 0) + bars(widget, 1) == pytest.approx([1 / 12, 1 / 12], rel=0.01)


def test_choosing_a_state_sets_every_slider_and_moving_one_leaves_it():
    widget = lab()
    widget._presets.value = "four ranks"
    assert widget.state == STATES["four ranks"]
    widget._means[3].value = 2.0
    assert widget._presets.value == "your own"


def test_no_item_on_any_rank_is_said_to_be_an_error():
    widget = lab(State((1,), (2.0,)))
    widget._counts[0].value = 0
    assert item_mean.NO_ITEM in widget._view.value
    widget._counts[0].value = 3
    assert "<svg" in widget._view.value


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == "l1-lab-static")
    assert table() in static
