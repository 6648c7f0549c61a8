"""The ring: after its steps every rank holds every sum, and the stepper shows who has what."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import marks, numbers

from autograder.labs import ring
from autograder.labs.figures import BLUE

LESSON = Path(__file__).parents[2] / "notebooks" / "2_sum_or_mean.ipynb"
untimed = settings(deadline=None)  # a busy machine is no failure
sizes = st.integers(2, ring.MAX_RANKS)


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


# ---- pictures and widgets


def test_filmstrip_shows_every_step_and_says_it_in_words():
    picture = ring.filmstrip(3)
    frames = 2 * (3 - 1) + 1
    assert len(marks(picture, "parts")) == 9 * frames
    assert len(marks(picture, "just arrived")) == 3 * (frames - 1)  # every rank gets one chunk in every step
    assert "rank r holds the complete sum of chunk r + 1" in picture.words


def test_a_cell_is_as_full_as_it_has_parts_and_blue_when_it_has_all():
    picture = ring.frame(4, 3)
    full = max(numbers(picture, "parts", "height"))
    held = [len(parts) for row in ring.holdings(4, 3) for parts in row]
    assert numbers(picture, "parts", "height") == pytest.approx([full * parts / 4 for parts in held], abs=0.02)
    assert [mark.get("fill") == BLUE for mark in marks(picture, "parts")] == [parts == 4 for parts in held]


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
    seen = []
    stepper._view.observe(lambda change: seen.append(change["new"]), "value")
    stepper._ranks.value = 3
    assert len(seen) == 1
    assert (stepper._step.value, stepper._step.max, stepper._play.max) == (0, 4, 4)
    assert "Before: every rank holds its own 3 chunks" in stepper._view.value


def test_lesson_holds_the_table_that_the_stepper_shows():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == "l2-stepper-static")
    assert ring.steps_table(4) in static


@untimed
@given(sizes)
def test_table_of_steps_counts_up_to_every_chunk(world_size):
    rows = [row.split(" | ") for row in ring.steps_table(world_size).splitlines()[2:]]
    assert [int(row[-1].rstrip(" |")) for row in rows] == [0] * (world_size - 2) + list(range(1, world_size + 1))
