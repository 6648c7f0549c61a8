"""Lesson 5: the lab shows what the dials predict, and the meter what waits for its backward."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import marks

from autograder.dials import RIGHT, Setting, predict_weights
from autograder.labs import accumulation
from autograder.labs.accumulation import (
    COMBINATIONS,
    DIVISORS,
    HOW_TO_WRITE,
    WINDOWS,
    State,
    lab,
    parsed,
    table,
)

LESSON = Path(__file__).parents[2] / "notebooks" / "5_accumulation.ipynb"

counts = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=4).map(tuple), min_size=1, max_size=3
).map(tuple).filter(lambda rows: any(map(any, rows)))
dials = st.tuples(st.sampled_from(DIVISORS), st.sampled_from(COMBINATIONS), st.sampled_from(COMBINATIONS))
states = st.tuples(counts, dials).map(lambda pair: State(pair[0], *pair[1]))


# ---- three dials


@settings(deadline=None)
@given(states)
def test_block_weights_are_the_formula_of_the_lesson(state):
    N, P = sum(map(sum, state.counts)), len(state.counts)
    expected = []
    for row in state.counts:
        for n in row:
            d = {"nothing": 1, "microbatch": n, "rank": sum(row), "window": N}[state.divisor]
            m = len(row) if state.microbatches == "mean" else 1
            p = P if state.ranks == "mean" else 1
            expected.append(1 / (d * m * p) if n else 0.0)
    assert state.block_weights() == pytest.approx(expected)


@settings(deadline=None)
@given(counts)
def test_an_effect_is_a_factor_exactly_when_all_weights_are_equal(counts):
    state = State(counts)
    for setting, factor in state.effects.items():
        shares = predict_weights(setting, state.window) * state.window.item_count
        if factor is None:
            assert float(shares.max() - shares.min()) > 1e-9
        else:
            assert shares.tolist() == pytest.approx([factor] * len(shares))
    assert state.effects[RIGHT] == pytest.approx(1.0)


def test_equal_counts_hide_four_settings_and_change_no_direction():
    effects = State(WINDOWS["equal counts"]).effects
    assert sum(factor is not None and abs(factor - 1) < 1e-9 for factor in effects.values()) == 4
    assert None not in effects.values()


def test_one_window_tells_every_plain_setting_from_the_right_one():
    effects = State(WINDOWS["tells everything apart"]).effects
    assert [s for s, factor in effects.items() if factor is not None and abs(factor - 1) < 1e-9] == [RIGHT]


def test_the_famous_loop_is_right_only_with_equal_counts():
    loop = Setting("microbatch", "mean", "mean")
    right = [name for name, window in WINDOWS.items() if State(window).effects[loop] == pytest.approx(1.0)]
    assert right == ["equal counts"]


@pytest.mark.parametrize("counts", WINDOWS.values())
def test_a_written_window_is_read_back(counts):
    assert parsed(accumulation._written(counts)) == counts


@pytest.mark.parametrize("text", ["", "a", "1 2 / ", "-1", "0 0 / 0", "41", "1 1 1 1 1 1", "1/1/1/1/1", "1.5"])
def test_what_is_no_window_is_refused_with_how_to_write_one(text):
    with pytest.raises(ValueError, match="ranks separated by"):
        parsed(text)


@settings(deadline=None, max_examples=20)
@given(states)
def test_every_state_can_be_drawn(state):
    widget = lab(state)
    bars = [bar for rank in range(len(state.counts)) for bar in marks(widget, f"block of rank {rank}")]
    weights = [w * state.window.item_count for w, n in zip(
        state.block_weights(), (n for row in state.counts for n in row), strict=True) if n]
    one = 154 / (1.2 * max(1.0, *weights))  # the height of a weight of 1/N in points
    assert [float(bar.get("height")) for bar in bars] == pytest.approx([w * one for w in weights], abs=0.02)
    (framed,) = marks(widget, "current setting")
    others = marks(widget, "setting")
    assert len(others) == len(DIVISORS) * len(COMBINATIONS) ** 2 - 1 and not [m for m in others if m.get("stroke")]
    rows, columns = (sorted({float(m.get(way)) for m in [framed, *others]}) for way in "yx")
    row, column = rows.index(float(framed.get("y"))), columns.index(float(framed.get("x")))
    pair = (COMBINATIONS.index(state.microbatches), COMBINATIONS.index(state.ranks))
    assert (row, divmod(column, 2)) == (DIVISORS.index(state.divisor), pair)


def test_turning_a_dial_moves_the_picture_and_names_the_mistake():
    widget = lab()
    assert "mean-of-microbatch-means" in widget._view.value
    widget._dials["divisor"].value = "window"
    assert "divided-twice" in widget._view.value
    widget._dials["microbatches"].value = widget._dials["ranks"].value = "sum"
    assert "Every item weighs 1/N" in widget._view.value
    assert widget.state == State(WINDOWS["tells everything apart"], "window", "sum", "sum")


def test_a_window_that_cannot_show_a_mistake_is_not_called_right():
    words = lab(State(WINDOWS["equal counts"]))._view.value
    assert "This window cannot show it; in another it is mean-of-microbatch-means" in words


def test_editing_the_counts_leaves_the_list_of_windows():
    widget = lab()
    widget._counts.value = "7 / 1 2"
    assert widget.state.counts == ((7,), (1, 2)) and widget._presets.value == "your own"
    widget._counts.value = "nonsense"
    assert HOW_TO_WRITE in widget._view.value
    widget._presets.value = "equal counts"
    assert widget.state.counts == WINDOWS["equal counts"] and "<svg" in widget._view.value


# ---- memory, and the lesson


def test_meter_sees_what_waits_for_its_backward():
    def peak(together: bool) -> int:
        w = torch.ones(50, requires_grad=True)
        with accumulation.SavedBytes() as saved:
            losses = []
            for _ in range(4):
                losses.append((w.exp() * 2).sum())
                if not together:
                    losses.pop().backward()
            if together:
                sum(losses).backward()
            losses.clear()
        return saved.peak

    assert peak(together=True) == 4 * peak(together=False) > 0


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    assert table() in next("".join(c["source"]) for c in cells if c["id"] == "l5-lab-dials-static")
