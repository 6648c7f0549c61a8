"""What a verdict shows, that it survives the way between processes, and that no text bends it."""

import dataclasses
import json
import math
import pickle
import re
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.diagnosis import KEYS
from autograder.verdict import IN_THE_FIELD, ItemWeight, Verdict, WrongUpdate, plain_text, readable_number

WRONG = Verdict(
    exercise="synchronized_item_mean",
    passed=False,
    credit=0.0,
    diagnosis="mean-of-rank-means",
    message="Every rank counts the same.\nAn item of rank 0 weighed 1/4, one of rank 1 weighed 1/12.",
    trials=15,
    seconds=0.31,
    trial={"name": "worked example", "world_size": 2, "counts": [2, 6]},
    items=(ItemWeight("", 0, 2, 1 / 4, 1 / 8), ItemWeight("", 1, 6, 1 / 12, 1 / 8)),
    output=((1, "hello from rank 1\n"),),
)
RIGHT = Verdict("sgd_step", True, 1.0, None, "", trials=12)
NASTY = "\x1b[31mred\x1b[0m \x1b]0;title\x07<script>alert('x')</script> & \u202eevil \x00\ud800 </div></svg>"


class Balance(HTMLParser):
    """Fails on a tag that is closed wrongly; keeps the names of all tags and the visible text."""

    def __init__(self, page: str):
        super().__init__()
        self.open, self.tags, self.text = [], set(), ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag not in ("br", "rect", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_first_line_says_exercise_mark_credit_backend_and_trials():
    first = str(WRONG).split("\n")[0]
    assert first.startswith("✗") and str(RIGHT).startswith("✓")
    for fact in ("synchronized_item_mean", "credit 0", "gloo", "15 trials"):
        assert fact in first
    assert "credit 1/2" in str(dataclasses.replace(WRONG, credit=0.5))


def test_what_did_not_run_is_not_named():
    nothing_ran = Verdict("f", False, 0.0, "not-implemented", "There is no f.", backend="none")
    assert str(nothing_ran).split("\n")[0] == "✗ f   credit 0"
    assert Balance(nothing_ran._repr_html_()).text.startswith("✗ not right yet f credit 0There is no f.")


def test_text_shows_weights_as_fractions_and_decimals():
    for fact in ("1/4 = 0.25", "1/12 ≈ 0.08333", "1/8 = 0.125", "█"):
        assert fact in str(WRONG)


def test_text_names_trial_and_reason_and_shows_what_ranks_printed():
    for fact in ("reason: mean-of-rank-means", "worked example", "2 ranks", "[2, 6]", "hello from rank 1"):
        assert fact in str(WRONG)


def test_passing_verdict_is_short_and_warm():
    right = dataclasses.replace(WRONG, passed=True, credit=1.0, diagnosis=None, message="")
    assert len(str(right).split("\n")) == 2 and "Well done" in str(right)
    assert len(RIGHT._repr_html_()) < 1000


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"),
        (8.0, "8"),
        (0.25, "1/4 = 0.25"),
        (-0.25, "-1/4 = -0.25"),
        (1 / 3, "1/3 ≈ 0.3333"),
        (1 / 4096, "1/4096 ≈ 0.0002441"),
        (1 / 5000, "0.0002"),
        (0.2345678, "0.2346"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (0.1 * (1 + 1e-7), "1/10 = 0.1"),
    ],
)
def test_numbers_are_fractions_where_one_fits(value, text):
    assert readable_number(value) == text


@given(st.integers(-500, 500), st.integers(1, 4096))
def test_every_small_fraction_is_recognised(numerator, denominator):
    shown = readable_number(numerator / denominator)
    assert Fraction(shown.split()[0]) == Fraction(numerator, denominator)


def test_html_says_the_reason_in_words_and_in_a_picture():
    page = Balance(WRONG._repr_html_())
    assert {"svg", "title", "rect", "details"} <= page.tags
    for fact in ("not right yet", "mean-of-rank-means", "1/4", "1/12", "should be 1/8", "worked example"):
        assert fact in page.text
    in_words = "Weight of one item. Rank 0, 2 items: 1/4, should be 1/8."
    assert f'role="img" aria-label="{in_words}' in WRONG._repr_html_()
    assert "✓ right" in Balance(RIGHT._repr_html_()).text


def test_html_is_self_contained_and_fits_dark_pages():
    page = WRONG._repr_html_()
    assert not re.search(r"<(style|script|link|img)|https?:|url\(", page)
    assert "currentColor" in page and not re.search(r"[^-]color:(black|#000|#333)", page)


def test_wrong_bars_differ_from_right_ones_by_more_than_colour():
    half_right = dataclasses.replace(
        WRONG, items=(ItemWeight("", 0, 2, 1 / 8, 1 / 8), ItemWeight("", 1, 6, 1 / 12, 1 / 8))
    )
    assert re.search(r"✓ +0 +2 items", str(half_right)) and re.search(r"✗ +1 +6 items", str(half_right))
    text = Balance(half_right._repr_html_()).text
    assert "1/8 ✓" in text and "1/12 ✗ should be 1/8" in text


def test_float32_error_does_not_make_a_weight_wrong():
    items = (ItemWeight("", 0, 2, 0.125 * (1 + 1e-6), 0.125),)
    assert "✓  0" in str(dataclasses.replace(WRONG, items=items))


@pytest.mark.parametrize("field", ["exercise", "message", "backend", "diagnosis", "output", "label", "trial"])
def test_what_a_learner_wrote_is_stripped_and_escaped(field):
    change = {
        "output": {"output": ((0, NASTY),)},
        "label": {"items": (ItemWeight(NASTY, 0, 2, 0.25, 0.125),)},
        "trial": {"trial": {"name": NASTY, "world_size": 2, "counts": [1, 2]}},
    }.get(field, {field: NASTY})
    verdict = dataclasses.replace(WRONG, **change)
    page = verdict._repr_html_()
    assert "script" not in Balance(page).tags
    error = WrongUpdate(verdict)
    for text in (str(verdict), page, str(error), *error._render_traceback_()):
        text.encode()  # no lone surrogates
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]|\[31m|;title", text)


@given(st.text(), st.integers(1, 50))
def test_plain_text_is_short_printable_and_stable(text, limit):
    once = plain_text(text, limit)
    assert len(once) <= limit and plain_text(once, limit) == once
    assert all(c == "\n" or c.isprintable() or c.isspace() for c in once)


def test_long_and_many_things_are_cut():
    long = "&'<\"" * 10_000
    verdict = dataclasses.replace(
        WRONG,
        message="\n".join([long] * 50),
        items=tuple(ItemWeight(long, rank, 3, rank / 7, 1 / 9) for rank in range(300)),
        output=tuple((rank, "\n".join([long] * 1000)) for rank in range(8)),
    )
    page = verdict._repr_html_()
    Balance(page)
    assert len(page.encode()) < 13_000  # every character of the text needs an entity here
    assert len(str(verdict).split("\n")) < 120 and max(map(len, str(verdict).split("\n"))) < 500
    assert "288 more groups" in str(verdict)


def test_hundreds_of_items_are_summarised_by_rank_within_8_kb():
    items = tuple(ItemWeight(f"item {i}", i // 100, 1, (1 + i % 3) / 400, 1 / 400) for i in range(400))
    verdict = dataclasses.replace(WRONG, items=items)
    assert len(verdict._repr_html_().encode()) < 8192
    assert len(re.findall("<rect", verdict._repr_html_())) == 4
    assert "0.0025 … 0.0075" in str(verdict)


def test_equal_neighbours_share_a_bar():
    items = tuple(ItemWeight(f"item {i}", 0, 1, 0.25 if i < 5 else 0.5, 0.125) for i in range(8))
    text = str(dataclasses.replace(WRONG, items=items))
    assert "item 0 … item 4 (×5)" in text and "item 5 … item 7 (×3)" in text


def test_a_label_does_not_repeat_the_rank():
    items = (ItemWeight("rank 1", 1, 2, 0.25, 0.125), ItemWeight("rank 12, microbatch 3", 12, 1, 0.5, 0.125))
    text = str(dataclasses.replace(WRONG, items=items))
    assert re.search(r"✗ +1 +2 items", text) and re.search(r"✗ +12 +microbatch 3 ", text)


def test_a_trial_of_a_plain_function_does_not_speak_of_ranks():
    text = str(dataclasses.replace(WRONG, trial={"name": "five items", "world_size": 1, "counts": []}))
    assert 'trial "five items" · reason' in text


def test_wrong_ranks_are_shown_when_right_ones_must_be_left_out():
    items = tuple(ItemWeight("", rank, 1, 0.5 if rank == 37 else 0.1, 0.1) for rank in range(40))
    assert re.search(r"✗ +37", str(dataclasses.replace(WRONG, items=items)))


def test_a_weight_that_is_not_a_number_is_shown_as_such():
    verdict = dataclasses.replace(WRONG, items=(ItemWeight("", 0, 2, math.nan, 0.125),))
    assert "nan" in str(verdict) and "nan ✗" in Balance(verdict._repr_html_()).text


def test_plain_data_round_trip():
    for verdict in (WRONG, RIGHT):
        data = verdict.to_dict()
        assert Verdict.from_dict(data) == verdict
        assert Verdict.from_dict(json.loads(json.dumps(data))) == verdict


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        [],
        "a verdict",
        {},
        WRONG.to_dict() | {"credit": 2},
        WRONG.to_dict() | {"credit": math.nan},
        WRONG.to_dict() | {"credit": "1"},
        WRONG.to_dict() | {"passed": 1},
        WRONG.to_dict() | {"message": None},
        WRONG.to_dict() | {"trials": -1},
        WRONG.to_dict() | {"points": 3},
        WRONG.to_dict() | {"trial": {"name": object()}},
        WRONG.to_dict() | {"trial": [1]},
        WRONG.to_dict() | {"items": [{"label": "x"}]},
        WRONG.to_dict() | {"items": [7]},
        WRONG.to_dict() | {"output": [[0]]},
        WRONG.to_dict() | {"output": [["0", "text"]]},
        {key: value for key, value in WRONG.to_dict().items() if key != "passed"},
    ],
)
def test_nonsense_is_not_a_verdict(nonsense):
    with pytest.raises(ValueError):
        Verdict.from_dict(nonsense)


def test_wrong_update_is_an_assertion_error_that_carries_the_verdict():
    error = WrongUpdate(WRONG)
    assert isinstance(error, AssertionError) and error.verdict is WRONG
    assert str(error) == f"synchronized_item_mean [mean-of-rank-means]: {WRONG.message}"
    assert pickle.loads(pickle.dumps(error)).verdict == WRONG


def test_traceback_in_a_notebook_is_one_line():
    lines = WrongUpdate(WRONG)._render_traceback_()
    assert len(lines) == 1 and "\n" not in lines[0]
    assert "mean-of-rank-means" in lines[0] and "Every rank counts the same." in lines[0]


def test_ipython_shows_the_one_line(capsys):
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.push({"error": WrongUpdate(WRONG)})
    shell.run_cell("raise error")
    shown = capsys.readouterr().out.strip()
    assert shown.startswith("WrongUpdate: synchronized_item_mean [mean-of-rank-means]") and "\n" not in shown


def test_what_was_met_in_the_field_is_said_and_the_guide_has_it(root):
    guide = (root / "docs" / "field_guide.md").read_text()
    named = set(re.findall(r"`([a-z-]+)`", guide)) & set(KEYS)
    assert IN_THE_FIELD == named - {"unexplained", "pure-scale"}, "the guide and the verdict name different keys"
    wrong = Verdict("f", False, 0.0, "mean-of-rank-means", "m", trial={"name": "t", "world_size": 2})
    assert "docs/field_guide.md" in str(wrong) and "docs/field_guide.md" in wrong._repr_html_()
    assert "field_guide" not in str(Verdict("f", False, 0.0, "deadlock", "m", trial={"name": "t", "world_size": 2}))
