"""Lesson 4: its text is real and its model causal; the lab's weights are those of the three means."""

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from labs.drawn import headline, marks, numbers, points
from torch.nn.functional import cross_entropy

from autograder.labs import blocks, text, token_counts
from autograder.labs.token_counts import OBJECTIVES, PER_RANK, RANKS, STATES, State, lab, table
from autograder.reference import per_item_gradients
from autograder.weights import recover_weights
from autograder.window import IGNORE_INDEX

LESSON = Path(__file__).parents[2] / "notebooks" / "4_token_counts.ipynb"

lengths = st.lists(st.lists(st.integers(0, 30), min_size=PER_RANK, max_size=PER_RANK), min_size=RANKS, max_size=RANKS)
states = lengths.filter(lambda rows: any(map(any, rows))).map(lambda rows: State(tuple(map(tuple, rows))))


def flat(rows) -> list:
    return [entry for row in rows for entry in row]


# ---- the text and the model


def test_docstrings_differ_a_hundredfold_in_length():
    lengths = [len(text.tokens(docstring)) - 1 for docstring in text.docstrings()]
    assert len(lengths) >= 500
    assert max(lengths) >= 100 * min(lengths)


def test_text_comes_from_the_running_standard_library_once():
    import textwrap

    docstrings = text.docstrings(["textwrap", "no_such_module"])
    assert any(d.splitlines()[0] in textwrap.fill.__doc__ for d in docstrings)
    assert len(set(docstrings)) == len(docstrings) and "" not in docstrings


def test_tokens_are_the_bytes_between_start_and_end():
    tokens = text.tokens("naïve")
    assert bytes(tokens[1:-1].tolist()).decode() == "naïve"
    assert (tokens[0], tokens[-1]) == (text.START, text.END)
    assert len(text.tokens("x" * 10_000)) == text.LONGEST + 2


def test_padding_and_nothing_else_is_ignored():
    documents = [text.tokens(t) for t in ("", "a", "abc")]
    ids, labels = text.padded(documents)
    assert ids.shape == labels.shape == (3, 5)
    assert torch.equal(labels == IGNORE_INDEX, ids == text.PADDING)
    assert (labels[:, 1:] != IGNORE_INDEX).sum(1).tolist() == [1, 2, 4]
    assert [d.tolist() for d in documents] == [[t for t in row.tolist() if t != IGNORE_INDEX] for row in labels]


def test_a_batch_without_documents_has_no_row():
    ids, labels = text.padded([])
    assert len(ids) == len(labels) == 0 and ids.ndim == 2


def test_held_out_documents_are_not_trained_on():
    documents = [torch.tensor([i]) for i in range(20)]
    training, held_out = text.split(documents, 5)
    assert len(held_out) == 5
    assert sorted(int(d) for d in training + held_out) == list(range(20))


def test_model_sees_no_later_token_and_no_padding():
    torch.manual_seed(0)
    model = text.TinyLanguageModel()
    ids, _ = text.padded([text.tokens("def f"), text.tokens("def f(x): return x")])
    changed = ids.clone()
    changed[:, 7:] = 65
    torch.testing.assert_close(model(ids)[:, :7], model(changed)[:, :7])
    assert not torch.allclose(model(ids)[:, 7:], model(changed)[:, 7:])
    alone, _ = text.padded([text.tokens("def f")])
    torch.testing.assert_close(model(ids)[:1, : alone.shape[1]], model(alone))


def test_model_uses_what_came_before():
    torch.manual_seed(0)
    model = text.TinyLanguageModel(context=3)
    ids = torch.tensor([[1, 2, 3, 4], [9, 2, 3, 4]])
    one, other = model(ids)
    assert not torch.allclose(one[2], other[2])
    torch.testing.assert_close(one[3], other[3])


def test_without_repeats_every_weight_can_be_recovered():
    torch.manual_seed(0)
    model = text.TinyLanguageModel(width=4, hidden=8).double()
    documents = [text.tokens(t) for t in ("abcdef", "abcdef", "xycdef", "abcdxy", "ghi")]
    kept = text.without_repeats(documents, model.context)
    assert [bytes(d[1:-1].tolist()) for d in kept] == [b"abcdef", b"xycdef", b"ghi"]

    def losses(module, ids, labels):
        found = cross_entropy(module(ids)[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), reduction="none")
        return found[labels[:, 1:].flatten() != IGNORE_INDEX]

    gradients = per_item_gradients(model, losses, *text.padded(kept))
    weights = torch.rand(len(gradients), dtype=torch.float64)
    found = recover_weights(weights @ gradients, gradients)
    assert not found.ties and not found.unidentifiable
    torch.testing.assert_close(found.weights, weights)


# ---- the three means


@settings(deadline=None)
@given(states)
def test_weights_are_those_of_the_formulas(state):
    lengths = state.lengths
    N, S = sum(flat(lengths)), sum(n > 0 for n in flat(lengths))
    active = sum(sum(rank) > 0 for rank in lengths)
    expected = {
        "token": [[1 / N if n else 0.0 for n in rank] for rank in lengths],
        "sequence": [[1 / (S * n) if n else 0.0 for n in rank] for rank in lengths],
        "rank": [[1 / (active * sum(rank)) if n else 0.0 for n in rank] for rank in lengths],
    }
    for objective in OBJECTIVES:
        assert flat(state.weights(objective)) == pytest.approx(flat(expected[objective])), objective


@settings(deadline=None)
@given(states)
def test_each_is_an_average(state):
    for objective in OBJECTIVES:
        votes = [w * n for w, n in zip(flat(state.weights(objective)), flat(state.lengths), strict=True)]
        assert sum(votes) == pytest.approx(1.0), objective


@settings(deadline=None)
@given(states, st.permutations(range(RANKS * PER_RANK)))
def test_only_the_rank_mean_depends_on_the_dealing(state, order):
    before = flat(state.lengths)
    after = [before[i] for i in order]
    dealt = State(tuple(tuple(after[r * PER_RANK : (r + 1) * PER_RANK]) for r in range(RANKS)))
    for objective in ("token", "sequence"):
        weights = flat(state.weights(objective))
        assert flat(dealt.weights(objective)) == pytest.approx([weights[i] for i in order])


def test_the_same_documents_dealt_another_way_weigh_otherwise_in_the_rank_mean():
    one, other = STATES["long on one rank, short on the other"], STATES["the same, dealt another way"]
    assert sorted(flat(one.lengths)) == sorted(flat(other.lengths))
    of_ten = [dict(zip(flat(s.lengths), flat(s.weights("rank")), strict=True))[10] for s in (one, other)]
    assert of_ten[0] > 5 * of_ten[1]


# ---- the lab and the pictures


@settings(deadline=None, max_examples=20)
@given(states)
def test_every_state_can_be_drawn(state):
    widget = lab(state)
    votes = numbers(widget, "vote under the sequence mean", "width")
    assert votes == pytest.approx([2.83 * (100 / len(votes) - 0.5)] * len(votes), abs=0.1)  # 283 points are all
    whole = [points(dot) for dot in marks(widget, "sequence")]
    lengths = [n for n in flat(state.lengths) if n]
    heights = [(corners[0][1] + corners[2][1]) / 2 for corners in whole]
    assert len(heights) == len(lengths)
    if max(lengths) > min(lengths):  # every doubling of the length is as far down
        down = (heights[lengths.index(max(lengths))] - heights[lengths.index(min(lengths))])
        each = down / math.log2(max(lengths) / min(lengths))
        first = heights[0] - each * math.log2(lengths[0])
        assert heights == pytest.approx([first + each * math.log2(n) for n in lengths], abs=0.2) and each > 0
    assert headline(widget) == state.finding


def test_a_slider_moves_the_picture():
    widget = lab(STATES["equal lengths"])
    before = widget._view.value
    widget._sliders[1][2].value = 5
    assert widget._view.value != before
    assert widget._presets.value == "your own"
    assert widget.state.lengths == ((50, 50, 50), (50, 50, 5))


def test_choosing_a_state_sets_every_slider():
    widget = lab()
    widget._presets.value = "equal lengths"
    assert widget.state == STATES["equal lengths"]


def test_no_token_at_all_is_said_to_be_an_error():
    widget = lab(State(((1, 0, 0), (0, 0, 0))))
    widget._sliders[0][0].value = 0
    assert "N = 0" in widget._view.value
    widget._sliders[0][0].value = 3
    assert "<svg" in widget._view.value


def test_batch_picture_has_a_cell_for_every_place():
    _, labels = text.padded([text.tokens("abc"), text.tokens("a")])
    picture = token_counts.batch_picture(labels)
    assert len(marks(picture, "place")) == labels.numel()
    ignored = [place for place in marks(picture, "place") if place.get("fill") == "none"]
    assert len(ignored) == int((labels == IGNORE_INDEX).sum())
    assert "10 places, 8 of them not ignored, 6 targets" in picture.words


def test_histogram_counts_every_document_once():
    picture = token_counts.length_histogram([3, 3, 5, 10, 80, 200])
    bars = numbers(picture, "documents", "height")
    assert sum(bars) / max(bars) == pytest.approx(3, abs=0.05)  # the two of length 3 share the highest bar
    assert "between 3 and 200 targets" in picture.words


def test_curves_say_who_ended_lowest_in_which_reading():
    curves = {"token": [(0, 5.0, 5.0), (9, 2.0, 2.3)], "sequence": [(0, 5.0, 5.0), (9, 2.2, 2.1)]}
    words = token_counts.loss_curves(curves).words
    assert "on the token mean ends lowest in the token mean, on the sequence mean in the sequence mean" in words
    same = {"token": [(0, 5.0, 5.0), (9, 2.0, 2.0)], "sequence": [(0, 5.0, 5.0), (9, 2.2, 2.1)]}
    assert "token mean ends lowest in both" in token_counts.loss_curves(same).words


def test_loss_by_length_names_the_best_for_short_and_long():
    picture = token_counts.loss_by_length(["short", "long"], {"token": [2.5, 2.0], "sequence": [2.0, 2.4]})
    assert picture.words.startswith("Short documents are learnt best on the sequence mean, long ones on the token mean")


def test_blocks_are_as_wide_as_their_items_and_as_high_as_each_weighs():
    shown = [blocks.Block(0, 2, "2"), blocks.Block(0, 0, "0"), blocks.Block(1, 6, "6")]
    picture = blocks.weight_blocks({"x": [1 / 4, 0.0, 1 / 12]}, shown, "a title", "words")
    (one,), (other,) = (marks(picture, f"block of rank {rank}") for rank in (0, 1))
    assert float(other.get("width")) == pytest.approx(3 * float(one.get("width")), rel=0.01)
    assert float(one.get("height")) == pytest.approx(3 * float(other.get("height")), rel=0.01)
    foot = float(one.get("y")) + float(one.get("height"))
    assert points(marks(picture, "share")[0])[0][1] == pytest.approx(foot - float(one.get("height")) / 2, abs=0.1)
    assert one.get("fill") != other.get("fill")


def test_neighbours_that_weigh_the_same_share_one_number():
    shown = [blocks.Block(0, 2, "2"), blocks.Block(0, 3, "3"), blocks.Block(1, 5, "5")]
    picture = blocks.weight_blocks({"x": [0.1, 0.1, 0.1]}, shown, "a title", "words")
    assert [number.text for number in marks(picture, "weight")] == ["1", "1"]


def test_lesson_holds_the_table_that_the_lab_computes():
    cells = json.loads(LESSON.read_text(encoding="utf8"))["cells"]
    static = next("".join(cell["source"]) for cell in cells if cell["id"] == "l4-lab-static")
    assert table() in static
