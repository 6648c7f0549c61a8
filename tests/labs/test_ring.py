"""The ring: after its steps every rank holds every sum, the bytes are those of the formula, the labs follow."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.labs import ring
from autograder.labs.ring import STATES, Cost, Measured

LESSON = Path(__file__).parents[2] / "notebooks" / "2_sum_or_mean.ipynb"
untimed = settings(deadline=None)  # a busy machine is no failure
sizes = st.integers(2, ring.MAX_RANKS)
# What 2 ranks of an ideal machine with startup 100 µs and 1 GB/s would measure.
IDEAL = [Measured(2, s, ring.ideal_seconds(s, 2, 1e-4, 1e9)) for s in (4, 1024, 2**20, 2**24)]


@untimed
@given(sizes)
def test_every_rank_ends_with_every_complete_chunk(world_size):
    everybody = frozenset(range(world_size))
    assert all(chunk == everybody for row in ring.holdings(world_size, 2 * (world_size - 1)) for chunk in row)


@untimed
@given(sizes)
def test_after_the_first_phase_each_rank_holds_one_complete_chunk_and_none_is_held_twice(world_size):
    complete = [
        [chunk for chunk, parts in enumerate(row) if len(parts) == world_size]
        for row in ring.holdings(world_size, world_size - 1)
    ]
    assert sorted(chunks for (chunks,) in complete) == list(range(world_size))


@untimed
@given(sizes, st.data())
def test_in_every_step_each_rank_sends_one_chunk_to_its_neighbour_and_receives_one(world_size, data):
    step = data.draw(st.integers(1, 2 * (world_size - 1)))
    moves = ring.transfers(world_size, step)
    assert Counter(m.sender for m in moves) == Counter(m.receiver for m in moves) == Counter(range(world_size))
    assert all(move.receiver == (move.sender + 1) % world_size for move in moves)


@untimed
@given(sizes, st.data())
def test_no_part_is_added_twice(world_size, data):
    step = data.draw(st.integers(1, world_size - 1))
    before = ring.holdings(world_size, step - 1)
    for move in ring.transfers(world_size, step):
        assert not before[move.sender][move.chunk] & before[move.receiver][move.chunk]


@pytest.mark.parametrize("step", [0, 7])
def test_a_step_that_a_ring_does_not_have_is_refused(step):
    with pytest.raises(ValueError, match="steps 1 to 6"):
        ring.transfers(4, step)


@untimed
@given(sizes, st.integers(1, 10**9))
def test_bytes_are_one_chunk_for_every_step(world_size, payload):
    steps = 2 * (world_size - 1)
    assert ring.sent_bytes(payload, world_size) == pytest.approx(steps * payload / world_size)


def test_costs_have_the_numbers_of_the_lesson():
    assert ring.sent_bytes(1, 8) == 1.75
    assert ring.ideal_seconds(0, 8, 1e-3, 1e9) == pytest.approx(14e-3)
    assert ring.ideal_seconds(8e9, 8, 0.0, 1e9) == pytest.approx(14.0)
    assert ring.ideal_seconds(1e9, 1, 1e-3, 1e9) == 0


@untimed
@given(sizes, st.floats(1e-6, 1e-2), st.floats(1e6, 1e11))
def test_startups_and_bytes_cost_the_same_at_the_turning_point(world_size, startup, bandwidth):
    payload = ring.turning_point(world_size, startup, bandwidth)
    assert Cost(payload, world_size, startup, bandwidth).startup_share == pytest.approx(0.5)


def test_fit_finds_the_startup_and_bandwidth_of_an_ideal_ring():
    startup, bandwidth = ring.fit(IDEAL)
    assert startup == pytest.approx(1e-4, rel=0.01) and bandwidth == pytest.approx(1e9, rel=0.01)


def test_measured_points_come_from_real_ranks_one_for_each_size():
    points = ring.measure(world_sizes=(2,), payloads=(4, 4096), tries=2)
    assert [(p.world_size, p.payload) for p in points] == [(2, 4), (2, 4096)]
    assert all(p.seconds > 0 for p in points)


# ---- pictures and widgets


def test_filmstrip_shows_every_step_and_says_it_in_words():
    picture = ring.filmstrip(3)
    assert len(picture.figure.axes) == 2 * (3 - 1) + 1
    assert "<svg" in picture._repr_html_() and "rank r holds the complete sum of chunk r + 1" in picture.words


def test_words_of_the_filmstrip_name_the_chunk_that_is_complete():
    held = ring.holdings(4, 3)
    assert all(len(held[rank][(rank + 1) % 4]) == 4 for rank in range(4))


@pytest.mark.parametrize("world_size", [2, 4, ring.MAX_RANKS])
def test_every_step_of_the_stepper_can_be_drawn(world_size):
    stepper = ring.stepper(world_size)
    seen = set()
    for step in range(2 * (world_size - 1) + 1):
        stepper._step.value = step
        seen.add(stepper._view.value)
    assert len(seen) == 2 * (world_size - 1) + 1
    assert "every rank holds every complete sum" in stepper._view.value


def test_another_ring_starts_before_its_first_step():
    stepper = ring.stepper(4)
    stepper._step.value = 6
    stepper._ranks.value = 3
    assert (stepper._step.value, stepper._step.max, stepper._play.max) == (0, 4, 4)
    assert "Before: every rank holds its own 3 chunks" in stepper._view.value


def test_cost_lab_starts_at_what_was_measured_and_else_at_a_known_state():
    assert ring.cost_lab(IDEAL).cost.startup == pytest.approx(1e-4, rel=0.01)
    assert ring.cost_lab().cost == next(iter(STATES.values()))


def test_a_slider_moves_the_lines_that_are_there():
    lab = ring.cost_lab()
    line = lab._drawing._lines[lab._drawing._left][0]
    before, markup = list(line.get_ydata()), lab._view.value
    lab._startup.value = 1e-3
    assert lab._drawing._lines[lab._drawing._left][0] is line
    assert list(line.get_ydata()) != before and lab._view.value != markup
    assert lab._presets.value == "your own"


def test_measured_points_stand_beside_the_line_of_the_same_number_of_ranks():
    lab = ring.cost_lab(IDEAL)
    assert list(lab._drawing._points.get_xdata()) == [m.payload for m in IDEAL]
    assert "between 1 and 1 times the ideal line" in lab._view.value
    lab._ranks.value = 16
    assert not list(lab._drawing._points.get_xdata())


@pytest.mark.parametrize("name", STATES)
def test_every_state_can_be_set_on_the_sliders(name):
    lab = ring.cost_lab()
    lab._presets.value = name
    assert lab.cost == STATES[name] and lab._presets.value == name


def test_one_rank_has_nothing_to_send():
    lab = ring.cost_lab()
    lab._ranks.value = 1
    assert "nothing to send" in lab._view.value


@pytest.mark.parametrize(
    "cell_id, table", [("l2-stepper-static", ring.steps_table(4)), ("l2-lab-static", ring.cost_table())]
)
def test_lesson_holds_the_tables_that_the_labs_compute(cell_id, table):
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == cell_id)
    assert table in static


@untimed
@given(sizes)
def test_table_of_steps_counts_up_to_every_chunk(world_size):
    rows = [row.split(" | ") for row in ring.steps_table(world_size).splitlines()[2:]]
    assert [int(row[-1].rstrip(" |")) for row in rows] == [0] * (world_size - 2) + list(range(1, world_size + 1))


@pytest.mark.parametrize(
    "value, unit, text",
    [(1.75e9, "B", "1.75 GB"), (0, "s", "0 s"), (2.5e-5, "s", "25 µs"), (0.5, "B", "0.5 B"), (1e-9, "s", "1 ns")],
)
def test_quantities_are_written_with_a_prefix(value, unit, text):
    assert ring.quantity(value, unit) == text
