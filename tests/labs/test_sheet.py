"""Marks stand where their values say, and a picture leaves the page around it alone."""

import math
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labs.drawn import SVG, marks, points, svg, texts

from autograder.labs.figures import Picture
from autograder.labs.sheet import Frame, Scale, Sheet, round_ticks, text_width


def shown(sheet: Sheet) -> Picture:
    return Picture(sheet, "words")


def test_scale_puts_its_ends_where_they_belong_and_ratios_at_equal_distances():
    even, ratios = Scale(2, 4, 100, 0), Scale(1, 100, 0, 50, math.log)
    assert (even(2), even(4), even(3)) == (100, 0, 50)
    assert ratios(10) == pytest.approx(25) and ratios(1000) == pytest.approx(75)


def test_a_bar_stands_on_the_low_value_and_ends_at_the_high_one():
    sheet = Sheet(200, 100)
    Frame(sheet, (10, 20, 100, 50), (0, 4), (0, 10)).bar(1, 3, 0, 5, "red", of="bar")
    (bar,) = marks(shown(sheet), "bar")
    assert {name: float(bar.get(name)) for name in ("x", "y", "width", "height")} == {
        "x": 35, "y": 45, "width": 50, "height": 25}


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 10))
def test_ticks_lie_within_their_ends_evenly_and_are_few(low, length, most):
    ticks = list(round_ticks(low, low + length, most))
    assert len(ticks) <= most + 1
    assert all(low - 1e-6 * length <= tick <= low + length + 1e-6 * length for tick in ticks)
    steps = [b - a for a, b in zip(ticks, ticks[1:], strict=False)]
    assert all(step == pytest.approx(steps[0], rel=1e-3) for step in steps)


def test_ticks_are_written_as_people_write_them():
    assert round_ticks(-1, 1, 4) == {-1.0: "−1.0", -0.5: "−0.5", 0.0: "0", 0.5: "0.5", 1.0: "1.0"}
    assert list(round_ticks(0, 2.2, 4, least_step=1).values()) == ["0", "1", "2"]


def test_what_is_clipped_lies_in_a_window_of_its_own_that_moves_nothing():
    sheet = Sheet(200, 100)
    frame = Frame(sheet, (10, 20, 100, 50), (0, 1), (0, 1))
    with frame.clipped():
        frame.line([(0, -5), (1, 5)], of="line")
    (window,) = svg(shown(sheet)).findall(f"{SVG}svg")
    assert window.get("viewBox") == "10 20 100 50" and (window.get("x"), window.get("y")) == ("10", "20")
    assert points(next(iter(window))) == [(10, 320), (110, -180)]


def test_lines_of_text_stand_below_one_another():
    sheet = Sheet(200, 100)
    sheet.text(50, 10, "one\ntwo < three", stands="top")
    one, two = svg(shown(sheet)).iter(f"{SVG}text")
    assert texts(shown(sheet)) == ["one", "two < three"]
    assert 10 < float(one.get("y")) < float(two.get("y"))


@pytest.mark.parametrize("bend", [0.0, 0.3])
def test_the_tip_of_an_arrow_is_as_short_of_its_end_as_asked(bend):
    sheet = Sheet(300, 200)
    sheet.arrow((50, 100), (250, 100), bend=bend, short=20)
    tip = points(svg(shown(sheet)).find(f"{SVG}polygon"))[0]
    assert math.dist(tip, (250, 100)) == pytest.approx(20, abs=4)
    assert (tip[1] < 99) == (bend > 0)  # it comes from the side to which it swings


def test_a_picture_has_no_style_sheet_and_no_name_that_the_rest_of_the_page_would_share():
    sheet = Sheet(100, 100)
    frame = Frame(sheet, (10, 20, 100, 50), (0, 1), (0, 1))
    with frame.clipped():
        frame.line([(0, 0), (1, 1)])
    sheet.marker(5, 5, "diamond", 8, "red")
    sheet.arrow((0, 0), (50, 50))
    tree = ElementTree.fromstring(shown(sheet).svg())
    assert not [mark for mark in tree.iter() if mark.tag == f"{SVG}style" or mark.get("id") or mark.get("class")]


def test_wide_letters_and_bold_ones_take_more_room():
    assert text_width("iii") < text_width("aaa") < text_width("mmm")
    assert text_width("aaa", 10, "bold") > text_width("aaa", 10) == pytest.approx(text_width("aaa", 20) / 2)
