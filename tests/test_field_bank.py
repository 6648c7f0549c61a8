"""Public bug reports, reduced to their numbers, must be named: tests/data/field_bank.json, docs/field_guide.md.

Every entry is checked twice: with the reported gradients (do the weights give the reported numbers?) and with
generic ones (does the tool name the setting?). What weights alone cannot say is tested as such.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from strategies import generic_gradients

from autograder.dials import (
    Setting,
    ambiguous,
    diagnosis_key,
    explain_blocks,
    explain_report,
    explain_two_terms,
    explain_update,
    explain_weights,
    predict_weights,
)
from autograder.weights import recover_weights
from autograder.window import UpdateWindow

BANK = json.loads((Path(__file__).parent / "data" / "field_bank.json").read_text())
ENTRIES = BANK["entries"]
GUIDE = Path(__file__).parents[1] / "docs" / "field_guide.md"


def of_kind(*kinds):
    chosen = [entry for entry in ENTRIES if entry["kind"] in kinds]
    return pytest.mark.parametrize("entry", chosen, ids=[entry["id"] for entry in chosen])


with_setting = pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if e["setting"]], ids=[e["id"] for e in ENTRIES if e["setting"]])


def window_of(entry, counts=None):
    facts = dict(entry["facts"])
    if "lengths" in facts:
        return UpdateWindow.from_lengths(facts.pop("lengths"), **facts)
    return UpdateWindow.from_counts(counts or entry["counts"], **facts)


def setting_of(entry):
    return Setting(**entry["setting"])


def gradients_of(nested):
    """[N, 1] or [N, D], in item order."""
    items = [item for row in nested for cell in row for item in cell]
    return torch.tensor(items, dtype=torch.float64).reshape(len(items), -1)


def number(text):
    return float(Fraction(text))


def keys(explanations):
    return [e.key for e in explanations]


def test_all_reports_are_here_once_and_told_in_the_guide():
    assert len(ENTRIES) == 44 == len({(e["repository"], e["number"]) for e in ENTRIES})
    guide = GUIDE.read_text()
    for entry in ENTRIES:
        assert f"{entry['repository']}#{entry['number']}" in guide
        assert entry["family"] in BANK["families"]


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e["right"] and e["kind"] not in ("two-terms",)],
                         ids=lambda e: e["id"])
def test_expected_weights_give_the_number_that_is_right(entry):
    window, gradients = window_of(entry), gradients_of(entry["item_gradients"])
    assert float(window.expected_weights @ gradients) == pytest.approx(number(entry["right"]), abs=1e-12)
    assert explain_update(torch.tensor([number(entry["right"])]), gradients, window)[0].key is None


@with_setting
def test_the_setting_gives_the_number_that_was_reported(entry):
    predicted = predict_weights(setting_of(entry), window_of(entry)) @ gradients_of(entry["item_gradients"])
    assert float(predicted) == pytest.approx(number(entry["wrong"]), abs=1e-12)


@of_kind("update", "disputed", "second-term")
def test_the_update_is_named(entry):
    window, setting = window_of(entry), setting_of(entry)
    weights = predict_weights(setting, window)
    gradients = generic_gradients(window.item_count, 7)
    assert diagnosis_key(setting, window) == entry["key"]
    for found in (explain_update(weights @ gradients, gradients, window), explain_weights(weights, window)):
        assert entry["key"] in keys(found)
        assert setting in [e.setting for e in found]
        before = keys(found)[:keys(found).index(entry["key"])]
        assert sorted(before) == sorted(entry.get("tied_with", []))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "sister" in e], ids=lambda e: e["id"])
def test_a_window_that_tells_more_gives_the_name_alone(entry):
    window = window_of(entry, entry["sister"]["counts"])
    setting, gradients = setting_of(entry), generic_gradients(window.item_count, 7)
    found = explain_update(predict_weights(setting, window) @ gradients, gradients, window)
    assert found[0].key == entry["key"] and set(keys(found)) <= {entry["key"], "pure-scale"}


@pytest.mark.parametrize("entry", [e for e in ENTRIES if "tied_with" in e], ids=lambda e: e["id"])
def test_where_a_name_is_not_first_the_window_is_known_to_hide_it(entry):
    window = window_of(entry)
    hidden = [{diagnosis_key(s, window) for s in pair} for pair in ambiguous(window) if setting_of(entry) in pair]
    for other in entry["tied_with"]:
        assert {entry["key"], other} in hidden


def test_active_ranks_are_right_only_while_one_rank_is_left():
    entry = next(e for e in ENTRIES if e["id"] == "join-42577")
    active = Setting(**entry["alternative"]["setting"])
    window, sister = window_of(entry), window_of(entry, entry["sister"]["counts"])
    assert keys(explain_weights(predict_weights(active, window), window)) == [None]
    assert explain_weights(predict_weights(active, sister), sister)[0].key == "active-ranks"


@of_kind("scale")
def test_a_count_of_other_steps_is_a_scale_and_the_sentence_has_the_count(entry):
    window, gradients = window_of(entry), generic_gradients(3, 7)
    factor = number(entry["factor"])
    found = explain_update(factor * window.expected_weights @ gradients, gradients, window)
    assert keys(found) == [entry["key"]] and found[0].factor == pytest.approx(factor)
    assert "a divisor of 8 in place of 3" in found[0].sentence
    reported = factor * window.expected_weights @ gradients_of(entry["item_gradients"])
    assert float(reported) == pytest.approx(number(entry["wrong"]))


@of_kind("stale")
def test_gradients_of_the_window_before_are_found_beside_right_weights(entry):
    window, share = window_of(entry), number(entry["stale"]["weight"])
    reported = number(entry["right"]) + share * entry["stale"]["gradient"]
    assert reported == pytest.approx(number(entry["wrong"]))

    gradients, before = generic_gradients(window.item_count, 7), generic_gradients(1, 7, seed=1)
    update = window.expected_weights @ gradients + share * before[0]
    assert keys(explain_update(update, gradients, window)) == ["unexplained"]
    assert keys(explain_update(update, gradients, window, outside=before)) == [entry["key"]]
    recovery = recover_weights(update, gradients, nuisance=before)
    assert keys(explain_weights(recovery.weights, window)) == [None]
    assert float(recovery.nuisance) == pytest.approx(share)


@of_kind("clipped-each-microbatch")
def test_clipping_each_microbatch_is_no_setting_of_the_dials_but_shows_in_the_weights(entry):
    def clipped(gradient):
        return gradient * min(1.0, entry["max_norm"] / float(gradient.norm()))

    window, gradients = window_of(entry), gradients_of(entry["item_gradients"])
    update = clipped(clipped(gradients[0] / 2) + gradients[1] / 2)
    assert keys(explain_update(update, gradients, window)) == [entry["key"]]
    weights = recover_weights(update, gradients).weights
    assert weights[1] > 2 * weights[0]
    once = clipped(window.expected_weights @ gradients)
    found = explain_update(once, gradients, window)
    assert keys(found) == ["pure-scale"] and "clipping" in found[0].sentence


@of_kind("blocks")
def test_parameters_that_are_treated_differently_are_named(entry):
    window, gradients = window_of(entry), {}
    blocks = {}
    for seed, (name, factor) in enumerate(entry["factors"].items()):
        gradients[name] = generic_gradients(window.item_count, 5, seed)
        blocks[name] = (number(factor) * window.expected_weights @ gradients[name], gradients[name])
    assert keys(explain_blocks(blocks, window)) == [entry["key"]]
    expert = number(entry["factors"]["expert"]) * window.expected_weights @ gradients_of(entry["item_gradients"])
    assert float(expert) == pytest.approx(number(entry["wrong"]))


@of_kind("report")
def test_a_wrong_report_beside_a_right_update_is_only_a_wrong_report(entry):
    window, losses = window_of(entry), gradients_of(entry["item_gradients"])[:, 0]
    report = explain_report(number(entry["wrong"]), losses, window)
    assert report.key == entry["key"] and report.setting is not None
    assert explain_report(number(entry["right"]), losses, window).key is None
    gradients = generic_gradients(window.item_count, 7)
    assert explain_update(window.expected_weights @ gradients, gradients, window)[0].key is None


@of_kind("two-terms")
def test_a_second_term_on_another_scale_is_named(entry):
    window, items = window_of(entry), gradients_of(entry["item_gradients"])
    parts = UpdateWindow.from_counts(entry["term"]["counts"])
    term, scale = gradients_of(entry["term"]["gradients"]), Setting(**entry["term"]["setting"])
    right = window.expected_weights @ items + parts.expected_weights @ term
    wrong = window.expected_weights @ items + predict_weights(scale, parts) @ term
    assert float(right) == pytest.approx(number(entry["right"]))
    assert float(wrong) == pytest.approx(number(entry["wrong"]))

    items, term = generic_gradients(window.item_count, 7), generic_gradients(parts.item_count, 7, seed=1)
    update = window.expected_weights @ items + predict_weights(scale, parts) @ term
    assert explain_two_terms(update, items, window, term, parts)[0].key == entry["key"]


@of_kind("second-term")
def test_beside_a_right_first_term_it_is_the_second_that_is_misweighted(entry):
    parts, window = window_of(entry), UpdateWindow.from_counts([[3, 2], [2, 4]])
    items, term = generic_gradients(window.item_count, 7), generic_gradients(parts.item_count, 7, seed=1)
    update = window.expected_weights @ items + predict_weights(setting_of(entry), parts) @ term
    assert explain_two_terms(update, items, window, term, parts)[0].key == "second-term-misweighted"


@of_kind("false-alarm")
def test_a_false_alarm_is_right_and_the_proposed_repair_is_named(entry):
    window, gradients = window_of(entry), generic_gradients(sum(map(sum, entry["counts"])), 7)
    assert keys(explain_update(gradients.mean(0), gradients, window)) == [None]
    proposed = predict_weights(setting_of(entry), window) @ gradients
    assert explain_update(proposed, gradients, window)[0].key == entry["key"]
