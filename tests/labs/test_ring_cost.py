"""What a ring costs: the bytes and times are those of the formulas, and the lab follows its sliders."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import marks, points

from autograder.labs import ring_cost
from autograder.labs.ring_cost import STATES, Cost, Measured

LESSON = Path(__file__).parents[2] / "notebooks" / "2_sum_or_mean.ipynb"
untimed = settings(deadline=None)  # a busy machine is no failure
sizes = st.integers(2, 64)
# What 2 ranks of an ideal machine with startup 100 µs and 1 GB/s would measure.
IDEAL = [Measured(2, s, ring_cost.ideal_seconds(s, 2, 1e-4, 1e9)) for s in (4, 1024, 2**20, 2**24)]


@untimed
@given(sizes, st.integers(1, 10**9))
def test_bytes_are_one_chunk_for_every_step(world_size, payload):
    steps = 2 * (world_size - 1)
    assert ring_cost.sent_bytes(payload, world_size) == pytest.approx(steps * payload / world_size)


def test_costs_have_the_numbers_of_the_lesson():
    assert ring_cost.sent_bytes(1, 8) == 1.75
    assert ring_cost.ideal_seconds(0, 8, 1e-3, 1e9) == pytest.approx(14e-3)
    assert ring_cost.ideal_seconds(8e9, 8, 0.0, 1e9) == pytest.approx(14.0)
    assert ring_cost.ideal_seconds(1e9, 1, 1e-3, 1e9) == 0


@untimed
@given(sizes, st.floats(1e-6, 1e-2), st.floats(1e6, 1e11))
def test_startups_and_bytes_cost_the_same_at_the_turning_point(world_size, startup, bandwidth):
    payload = ring_cost.turning_point(world_size, startup, bandwidth)
    assert Cost(payload, world_size, startup, bandwidth).startup_share == pytest.approx(0.5)


def test_fit_finds_the_startup_and_bandwidth_of_an_ideal_ring():
    startup, bandwidth = ring_cost.fit(IDEAL)
    assert startup == pytest.approx(1e-4, rel=0.01) and bandwidth == pytest.approx(1e9, rel=0.01)


def test_measured_points_come_from_real_ranks_one_for_each_size():
    points = ring_cost.measure(world_sizes=(2,), payloads=(4, 4096), tries=2)
    assert [(p.world_size, p.payload) for p in points] == [(2, 4), (2, 4096)]
    assert all(p.seconds > 0 for p in points)


def test_cost_lab_starts_at_what_was_measured_and_else_at_a_known_state():
    assert ring_cost.lab(IDEAL).state.startup == pytest.approx(1e-4, rel=0.01)
    assert ring_cost.lab().state == next(iter(STATES.values()))


def test_a_slider_moves_the_lines():
    lab = ring_cost.lab()
    before = points(marks(lab, "ideal ring")[0])
    lab._startup.value = 1e-3
    after = points(marks(lab, "ideal ring")[0])
    assert [x for x, _ in after] == [x for x, _ in before]
    assert after[0][1] < before[0][1] and after[-1][1] < before[-1][1] + 0.1  # up, where startups are all of it
    assert lab._presets.value == "your own"


def test_lines_meet_where_startups_and_bytes_cost_the_same():
    picture = ring_cost.picture(Cost(1e9, 8, 5e-5, 1.25e9))
    turn = points(marks(picture, "turning point")[0])[0][0]
    flat, rising = (points(marks(picture, name)[0]) for name in ("startups alone", "bytes alone"))
    nearest = min(rising, key=lambda point: abs(point[1] - flat[0][1]))
    assert nearest[0] == pytest.approx(turn, abs=8)  # the points of a line are 7 apart


def test_measured_points_stand_beside_the_line_of_the_same_number_of_ranks():
    lab = ring_cost.lab(IDEAL)
    line = points(marks(lab, "ideal ring")[0])
    for dot in marks(lab, "measured"):
        x, y = float(dot.get("cx")), float(dot.get("cy"))
        near = min(line, key=lambda point: abs(point[0] - x))
        assert y == pytest.approx(near[1], abs=8)
    assert len(marks(lab, "measured")) == len(IDEAL)
    assert "between 1 and 1 times the ideal line" in lab._view.value
    assert f"measured here (gloo, n = {IDEAL[0].world_size})" in lab._view.value
    lab._ranks.value = 16
    assert not marks(lab, "measured")
    assert f"measured only for n = {IDEAL[0].world_size}" in lab._view.value


@pytest.mark.parametrize("name", STATES)
def test_every_state_can_be_set_on_the_sliders(name):
    lab = ring_cost.lab()
    lab._presets.value = name
    assert lab.state == STATES[name] and lab._presets.value == name


def test_one_rank_has_nothing_to_send():
    lab = ring_cost.lab()
    lab._ranks.value = 1
    assert "nothing to send" in lab._view.value and not marks(lab, "turning point")


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == "l2-lab-static")
    assert ring_cost.table() in static


@pytest.mark.parametrize(
    "value, unit, text",
    [(1.75e9, "B", "1.75 GB"), (0, "s", "0 s"), (2.5e-5, "s", "25 µs"), (0.5, "B", "0.5 B"), (1e-9, "s", "1 ns")],
)
def test_quantities_are_written_with_a_prefix(value, unit, text):
    assert ring_cost.quantity(value, unit) == text
