"""The look of the lessons: readable in both themes, apart for colour-blind eyes, said in words too."""

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from labs.drawn import SVG, marks, numbers, points, svg, texts

from autograder.labs import figures
from autograder.labs.sheet import text_width

LIGHT_PAGE, DARK_PAGE = "#ffffff", "#111111"
# Machado et al. 2009, severity 1: what a linear RGB colour becomes in the two common colour blindnesses.
COLOUR_BLIND = {
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}
WRONG_AND_RIGHT = {"wrong": [[0.25, 0.25], [1 / 12] * 6], "right": [[0.125] * 2, [0.125] * 6]}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    lighter, darker = sorted((linear(c) @ [0.2126, 0.7152, 0.0722] for c in (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def lab_colour(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of a linear sRGB colour, in which a distance says how different two colours look."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("page", [LIGHT_PAGE, DARK_PAGE])
@pytest.mark.parametrize("colour", [*figures.PALETTE, figures.GREY])
def test_data_colours_stand_out_from_a_light_and_a_dark_page(colour, page):
    assert contrast(colour, page) >= 3


@pytest.mark.parametrize("kind", COLOUR_BLIND)
def test_right_too_much_and_too_little_look_different_to_colour_blind_eyes(kind):
    seen = [
        lab_colour(np.array(COLOUR_BLIND[kind]) @ linear(colour))
        for colour in (figures.BLUE, figures.VERMILLION, figures.TAUPE)
    ]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def test_text_takes_the_colour_of_the_page():
    picture = figures.weight_bars(WRONG_AND_RIGHT, "a title", "in words")
    assert "color: var(--jp-content-font-color1" in svg(picture).get("style")
    assert svg(picture).get("fill") == "currentColor"
    assert {text.get("fill") for text in svg(picture).iter(f"{SVG}text")} == {None}


def test_picture_is_well_formed_and_says_the_same_in_words():
    words = 'one < two & "three"'
    picture = figures.weight_bars(WRONG_AND_RIGHT, "a title", words)
    assert repr(picture) == words
    page = ElementTree.fromstring(picture._repr_html_())
    assert page.find(".//figcaption").text == words
    svg = next(iter(page))
    assert svg.get("role") == "img" and svg.get("aria-label") == words


def test_same_figure_gives_the_same_markup():
    one, other = (figures.weight_bars(WRONG_AND_RIGHT, "a title", "words").svg() for _ in range(2))
    assert one == other


def test_bars_end_at_the_weights_and_are_coloured_by_what_they_should_be():
    picture = figures.weight_bars(WRONG_AND_RIGHT, "a title", "words")
    heights, colours = numbers(picture, "item", "height"), [bar.get("fill") for bar in marks(picture, "item")]
    foot = sum(float(marks(picture, "item")[0].get(side)) for side in ("y", "height"))
    eighth = foot - points(marks(picture, "share")[0])[0][1]  # the dashed line stands at 1/8
    weights = [0.25] * 2 + [1 / 12] * 6 + [0.125] * 8
    assert heights == pytest.approx([8 * eighth * weight for weight in weights], abs=0.2)
    assert colours == [figures.VERMILLION] * 2 + [figures.TAUPE] * 6 + [figures.BLUE] * 8


def test_an_empty_rank_has_no_bar():
    picture = figures.weight_bars({"x": [[0.5], [], [0.5]]}, "a title", "words")
    assert len(marks(picture, "item")) == 2


def test_the_multiple_of_a_share_has_a_line_of_its_own_and_no_label_touches_the_next():
    picture = figures.weight_bars({"x": [[0.4], [0.35], [0.15], [0.1]], "y": [[0.25]] * 4}, "a title", "words")
    assert ["2/5", "= 1.6/N"] == texts(picture)[texts(picture).index("2/5"):][:2]
    labels = [(float(t.get("x")), text_width(t.text)) for t in svg(picture).iter(f"{SVG}text") if "/N" in t.text
              and t.text.startswith("=")]
    assert len(labels) == 4
    for (left, one), (right, other) in zip(labels, labels[1:], strict=False):
        assert right - left > (one + other) / 2


@pytest.mark.parametrize(
    "value, text", [(0.25, "1/4"), (1 / 12, "1/12"), (0.0, "0"), (2.0, "2"), (0.123456, "0.1235")]
)
def test_weights_are_written_as_short_fractions_where_there_is_one(value, text):
    assert figures.fraction(value) == text


def test_a_wrong_weight_is_also_given_in_shares():
    assert figures.weight_note(1 / 4, 1 / 8) == "1/4 = 2/N"
    assert figures.weight_note(1 / 8, 1 / 8) == "1/8"


def test_gradient_line_has_one_dot_for_each_item():
    picture = figures.gradient_line([2, 6], [1.0, 3.0], 2.5, 2.0, "a title", "words")
    assert [len(marks(picture, f"item of rank {rank}")) for rank in (0, 1)] == [2, 6]
    one, three = (numbers(picture, f"item of rank {rank}", "cx")[0] for rank in (0, 1))
    (item_mean,), (rank_mean,) = (marks(picture, name) for name in ("item mean", "mean of rank means"))
    tips = [points(item_mean)[2][0], points(rank_mean)[2][0]]
    assert tips == pytest.approx([one + 0.75 * (three - one), one + 0.5 * (three - one)], abs=0.1)


@pytest.mark.parametrize("title", ["short", "a finding that takes a long breath, " * 3])
def test_a_finding_is_never_cut_off(title):
    picture = figures.weight_bars(WRONG_AND_RIGHT, title, "words")
    (line,) = marks(picture, "headline")
    end = float(line.get("x")) + text_width(title, float(line.get("font-size")), "bold")
    assert end <= picture.sheet.width
