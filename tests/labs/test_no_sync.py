"""Lesson 5: what synchronising costs, and who waits for whom."""

import json
from pathlib import Path

import pytest
from labs.drawn import headline, numbers, texts

from autograder.labs import no_sync
from autograder.labs.no_sync import BACKWARD, FORWARD, TIMINGS, Timing, lab, table

LESSON = Path(__file__).parents[2] / "notebooks" / "5_accumulation.ipynb"


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


def lengths(shown, kind: str) -> list[float]:
    return numbers(shown, kind, "width")


def test_a_segment_is_as_long_as_it_takes():
    picture = no_sync.picture(Timing((2, 2), 3.0))
    forward, backward, sync = (set(lengths(picture, kind)) for kind in ("forward", "backward", "synchronise"))
    gap = 0.06 * 629 / (1.02 * Timing((2, 2), 3.0).every.end)
    one = forward.pop() + gap
    assert backward.pop() + gap == pytest.approx(2 * one, abs=0.05)
    assert sync.pop() + gap == pytest.approx(3 * one, abs=0.05)
    assert len(lengths(picture, "synchronise")) == 2 * (2 + 1) and not lengths(picture, "wait")


def test_who_waits_for_ever_is_told_from_who_is_done():
    picture = no_sync.picture(TIMINGS["unequal K"])
    assert {"waits …", "has no microbatch left"} <= set(texts(picture))
    assert len(lengths(picture, "wait")) == 2  # one of them until the other rank is there


def test_sliders_move_the_picture():
    widget = lab()
    assert "One synchronisation instead of 4" in headline(widget)
    widget._microbatches[1].value = 2
    assert "waits for ever" in widget._view.value
    widget._presets.value = "one microbatch"
    assert widget.state == TIMINGS["one microbatch"]


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    assert table() in next("".join(c["source"]) for c in cells if c["id"] == "l5-lab-time-static")
