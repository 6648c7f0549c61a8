"""The lab of lesson 3: its weights are those of real steps, and the picture follows every control."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import marks, points

from autograder.dials import Setting, predict_weights
from autograder.labs import uneven_ranks
from autograder.labs.uneven_ranks import FACTORS, LOSSES, REDUCERS, STATES, State, lab, table
from autograder.window import UpdateWindow

LESSON = Path(__file__).parents[2] / "notebooks" / "3_uneven_ranks.ipynb"
untimed = settings(deadline=None, max_examples=60)  # a busy machine is no failure
counts = st.lists(st.integers(0, 12), min_size=1, max_size=4).filter(any).map(tuple)
states = st.builds(State, counts, st.sampled_from(LOSSES), st.sampled_from(FACTORS), st.sampled_from(REDUCERS))
# Local mean or sum, unscaled or divided by N, under either reducer: what the dials call these.
DIALS = {
    ("local mean", "1"): "rank",
    ("local sum", "1"): "nothing",
    ("local sum", "1/N"): "window",
}


def stepped(state: State) -> list[float]:
    """The weight of every item in a step that computes what the state says, on unit gradients."""
    items = torch.eye(state.item_count, dtype=torch.float64).split(state.counts)
    total = torch.zeros(state.item_count, dtype=torch.float64)
    for own, factor in zip(items, state.factors, strict=True):
        if len(own):
            total += factor * (own.mean(dim=0) if state.loss == "local mean" else own.sum(dim=0))
    return (total / (state.world_size if state.reducer == "mean" else 1)).tolist()


@untimed
@given(states)
def test_weights_are_what_a_step_on_unit_gradients_leaves(state):
    by_item = [w for w, n in zip(state.weights, state.counts, strict=True) for _ in range(n)]
    assert by_item == pytest.approx(stepped(state))
    assert state.total == pytest.approx(sum(by_item))


@untimed
@given(counts, st.sampled_from(sorted(DIALS)), st.sampled_from(REDUCERS))
def test_weights_agree_with_the_dials(counts, dial, reducer):
    loss, factor = dial
    predicted = predict_weights(Setting(DIALS[dial], "sum", reducer), UpdateWindow.from_counts(counts))
    state = State(counts, loss, factor, reducer)
    by_item = [w for w, n in zip(state.weights, counts, strict=True) for _ in range(n)]
    assert predicted.tolist() == pytest.approx(by_item)


@untimed
@given(counts)
def test_the_repair_is_the_item_mean_for_every_choice_of_counts(counts):
    state = State(counts, "local mean", "P·n_r/N", "mean")
    assert all(w == pytest.approx(state.share) for w, n in zip(state.weights, counts, strict=True) if n)
    assert "this is the item mean" in state.finding


@untimed
@given(states)
def test_finding_says_item_mean_scale_or_other_objective_as_the_weights_are(state):
    shares = [w / state.share for w, n in zip(state.weights, state.counts, strict=True) if n]
    equal = max(shares) - min(shares) < 1e-9
    assert ("item mean" in state.finding) == (equal and abs(shares[0] - 1) < 1e-9)
    assert ("wrong scale" in state.finding) == (equal and abs(shares[0] - 1) >= 1e-9)
    assert ("another objective" in state.finding) == (not equal)


def test_lab_has_the_numbers_of_the_lesson():
    assert STATES["DDP, local means"].weights == pytest.approx((1 / 4, 1 / 12))
    assert STATES["the repair"].factors == pytest.approx((0.5, 1.5))
    assert STATES["an empty rank"].weights == pytest.approx((1 / 6, 1 / 18, 0))


@untimed
@given(states)
def test_every_state_can_be_drawn(state):
    widget = lab(state)
    drawn = [bar for r in range(state.world_size) for bar in marks(widget, f"rank {r}")]
    largest = max(state.share, *state.weights)
    assert [float(bar.get("height")) for bar in drawn] == pytest.approx(
        [150 * weight / (1.12 * largest) for weight in state.weights], abs=0.02)
    widths = [float(bar.get("width")) for bar in drawn]
    assert widths == pytest.approx([sum(widths) * n / state.item_count for n in state.counts], abs=0.1)


def test_every_control_moves_the_picture():
    widget = lab()
    seen = {widget._view.value}
    for control, value in (
        (widget._counts[0], 5), (widget._factor, "P·n_r/N"), (widget._reducer, "sum"), (widget._loss, "local sum"),
        (widget._ranks, 3),
    ):
        control.value = value
        assert widget._view.value not in seen
        seen.add(widget._view.value)
    assert widget._presets.value == "your own"


def test_choosing_a_state_sets_every_control():
    widget = lab()
    widget._presets.value = "sums under a mean"
    assert widget.state == STATES["sums under a mean"]
    assert "1/2 of its share" in widget._view.value


def test_no_item_on_any_rank_is_said_to_be_an_error():
    widget = lab(State((1,)))
    widget._counts[0].value = 0
    assert uneven_ranks.NO_ITEM in widget._view.value


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == "l3-lab-static")
    assert table() in static


# ---- pictures of the lesson


def test_poison_picture_marks_each_nan_where_it_was():
    cases = {
        "harmless": uneven_ranks.Poisoning((0.5, float("nan")), (False, False), (False, False)),
        "fatal": uneven_ranks.Poisoning((0.5, 0.0), (False, True), (True, True)),
    }
    found = marks(uneven_ranks.poison_picture(cases, "a title", "words"), "mark")
    found.sort(key=lambda mark: (float(mark.get("y")), float(mark.get("x"))))
    assert [mark.text for mark in found] == [
        "ok", "NaN", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "NaN", "NaN", "NaN"]


def test_apart_picture_draws_gradients_and_parameters_on_one_scale():
    differences = {"SGD": [0.0, 0.0], "Adam": [0.0, 0.5]}
    zeros = {"SGD": [0.0, 0.25], "Adam": [0.0, 0.0]}
    picture = uneven_ranks.apart_picture(differences, zeros, 2, "a title", "words")
    (left, right), (flat, high) = (map(points, marks(picture, name)) for name in ("SGD", "Adam"))
    assert left[0][1] == right[0][1] == flat[1][1]  # zero, in gradients and in parameters
    assert right[0][1] - high[1][1] == pytest.approx(2 * (left[0][1] - left[1][1]), abs=0.2)
