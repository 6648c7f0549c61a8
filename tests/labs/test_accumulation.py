"""Lesson 5: the labs show what the dials predict and what a synchronisation costs."""

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.dials import RIGHT, Setting, predict_weights
from autograder.labs import accumulation
from autograder.labs.accumulation import (
    BACKWARD,
    COMBINATIONS,
    DIVISORS,
    FORWARD,
    HOW_TO_WRITE,
    TIMINGS,
    WINDOWS,
    State,
    Timing,
    lab,
    parsed,
    table,
    timeline_lab,
    timeline_table,
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
    drawing = lab(state)._drawing
    heights = [bar.get_height() for bar in drawing._weights.patches]
    weights = [w * state.window.item_count for w, n in zip(
        state.block_weights(), (n for row in state.counts for n in row), strict=True) if n]
    assert heights == pytest.approx(weights)
    framed = [s for s, cell in drawing._cells.items() if cell.get_linewidth() > 0]
    assert framed == [state.setting]


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


# ---- the time line


@pytest.mark.parametrize("K", [1, 3, 6])
@pytest.mark.parametrize("sync", [0.0, 2.5])
def test_equal_ranks_pay_for_every_synchronisation(K, sync):
    timing = Timing((K, K), sync)
    work = K * (FORWARD + BACKWARD)
    assert (timing.every.end, timing.once.end) == pytest.approx((work + K * sync, work + sync))
    assert (timing.every.syncs, timing.once.syncs) == (K, 1)


def test_unequal_numbers_of_microbatches_wait_for_ever_unless_synchronised_once():
    timing = Timing((4, 2))
    assert timing.every.stuck and timing.every.syncs == 2
    assert not timing.once.stuck and timing.once.syncs == 1


def test_everybody_waits_for_the_slow_rank():
    timing = Timing((2, 2), 1.0, (1.0, 2.0))
    waits = [sum(end - start for kind, start, end in rank if kind == "wait") for rank in timing.once.segments]
    assert waits == pytest.approx([2 * (FORWARD + BACKWARD), 0.0])


@pytest.mark.parametrize("timing", TIMINGS.values(), ids=TIMINGS)
def test_a_rank_does_one_thing_at_a_time(timing):
    for schedule in (timing.every, timing.once):
        for segments in schedule.segments:
            ends = [0.0, *(end for _, _, end in segments)]
            assert [start for _, start, _ in segments] == pytest.approx(ends[:-1])


def test_sliders_of_the_time_line_move_the_picture():
    widget = timeline_lab()
    figure = widget._drawing._figure
    assert "One synchronisation instead of 4" in widget._view.value
    widget._microbatches[1].value = 2
    assert widget._drawing._figure is figure and "waits for ever" in widget._view.value
    widget._presets.value = "one microbatch"
    assert widget.timing == TIMINGS["one microbatch"]


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


@pytest.mark.parametrize("cell, content", [("l5-lab-dials-static", table()), ("l5-lab-time-static", timeline_table())])
def test_lesson_holds_the_tables_that_the_labs_compute(cell, content):
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    assert content in next("".join(c["source"]) for c in cells if c["id"] == cell)
