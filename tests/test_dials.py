"""Settings of the three dials: what they predict, what they are called, and what a window hides."""

import random
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import counts, generic_gradients, random_counts, random_window, windows

from autograder.dials import (
    BASIC_KEYS,
    RIGHT,
    Setting,
    ambiguous,
    catalogue,
    diagnosis_key,
    explain_blocks,
    explain_report,
    explain_two_terms,
    explain_update,
    explain_weights,
    predict_weights,
)
from autograder.window import UpdateWindow

# P ≠ K, uneven, one empty microbatch: tells all plain settings apart.
TELLING = UpdateWindow.from_counts([[1, 4, 0], [2, 3, 5]])
WEIGHTED = UpdateWindow.from_counts([[1, 3], [2, 2], [1, 0]],
                                    sample_weights=[[[2.0], [1, 1, 4]], [[0.5, 3], [1, 2]], [[7.0], []]])
SPECIAL = {
    "padding-counted": (UpdateWindow.from_counts([[1, 4], [2, 3]], padding=[[3, 0], [1, 2]]), [
        Setting("padded-window"), Setting("padded-rank", ranks="mean"),
        Setting("padded-microbatch", "mean", "mean")]),
    "unshifted-count": (UpdateWindow.from_counts([[1, 4], [2, 3]], unshifted_counts=[[2, 7], [3, 4]]), [
        Setting("unshifted-window"), Setting("unshifted-rank", ranks="mean")]),
    "sequence-mean": (UpdateWindow.from_lengths([[[1, 2], [4]], [[3, 1], [2, 2]]]), [
        Setting("sequences-window"), Setting("sequences-rank", ranks="mean"), Setting("share-microbatch")]),
    "nominal-batch-size": (UpdateWindow.from_counts([[1, 4], [2, 3]], nominal_batch_size=7), [
        Setting("nominal-window"), Setting("nominal-microbatch", ranks="mean")]),
    "divided-by-items": (WEIGHTED, [Setting("number-window"), Setting("number-rank", ranks="mean")]),
    "weights-ignored": (WEIGHTED, [Setting("number-window", items="unweighted"),
                                   Setting("window", items="unweighted")]),
    "clamped-count": (UpdateWindow.from_counts([[2], [0], [0], [1]]), [
        Setting("clamped-share", ranks="mean")]),
    "wrong-group": (UpdateWindow.from_counts([[1], [4], [2], [6]], groups=((0, 1), (2, 3))), [
        Setting("group", ranks="mean"), Setting("group", ranks="groups"), Setting("window", ranks="group")]),
    "active-ranks": (UpdateWindow.from_counts([[1], [4], [0]]), [Setting("rank", ranks="active")]),
    "full-window-divisor-on-partial-window": (
        UpdateWindow.from_counts([[1, 4], [2, 3]], accumulation_steps=5), [
            Setting("microbatch", "configured", "mean"), Setting("window", "configured")]),
    "overflow-or-truncation": (UpdateWindow.from_counts([[4], [3]]), [Setting("truncated", ranks="mean")]),
    "duplicated-items": (UpdateWindow.from_counts([[2], [3]]), [Setting("wrapped", items="wrapped")]),
    "divided-twice": (TELLING, [Setting("rank", ranks="twice")]),
    "rank-lost": (UpdateWindow.from_counts([[1], [4], [2]]), [
        Setting(lost_ranks=(1,)), Setting("rest", lost_ranks=(0,)),
        Setting("rank", ranks="mean", lost_ranks=(0, 1))]),
    "gradients-lost": (TELLING, [Setting(kept="last"), Setting("rest", kept="first")]),
}


def simulated_step(window, gradients, divisor, microbatches, ranks):
    """The step with these dials as a trainer would make it: loops over ranks and microbatches."""
    total = torch.zeros(gradients.shape[1], dtype=torch.float64)
    for r, row in enumerate(window.counts):
        local = torch.zeros_like(total)
        divisors = {"nothing": 1, "rank": sum(row), "window": window.item_count}
        for k, count in enumerate(row):
            here = (window.item_ranks == r) & (window.item_microbatches == k)
            if count:
                local += gradients[here].sum(0) / divisors.get(divisor, count)
        total += local / (len(row) if microbatches == "mean" else 1)
    return total / (window.world_size if ranks == "mean" else 1)


def names(explanations):
    return [e.key for e in explanations]


def same(a, b):
    return bool((a - b).abs().max() <= 1e-9 * torch.maximum(a.abs().max(), b.abs().max()))


# ---- predictions

@given(windows())
def test_predicted_weights_are_those_of_a_step_really_made(window):
    gradients = generic_gradients(window.item_count)
    for dials in BASIC_KEYS:
        predicted = predict_weights(Setting(*dials), window) @ gradients
        assert torch.allclose(predicted, simulated_step(window, gradients, *dials), rtol=1e-9, atol=1e-12)


@given(windows())
def test_right_weights_sum_to_one_and_others_to_the_factor_they_predict(window):
    assert float(predict_weights(RIGHT, window).sum()) == pytest.approx(1)
    present = sum(n > 0 for n in window.rank_counts)
    assert float(predict_weights(Setting("rank"), window).sum()) == pytest.approx(present)
    assert float(predict_weights(Setting("rank", ranks="mean"), window).sum()) == pytest.approx(
        present / window.world_size)
    assert float(predict_weights(Setting("nothing"), window).sum()) == pytest.approx(window.item_count)
    for explanation in explain_weights(predict_weights(Setting("rank"), window), window):
        assert explanation.factor == pytest.approx(present)


@given(counts(), st.randoms(use_true_random=False))
def test_permuting_ranks_permutes_weights(table, shuffle):
    order = list(range(len(table)))
    shuffle.shuffle(order)
    before, after = UpdateWindow.from_counts(table), UpdateWindow.from_counts([table[r] for r in order])
    for dials in BASIC_KEYS:
        weights, moved = (predict_weights(Setting(*dials), w) for w in (before, after))
        for place, r in enumerate(order):
            assert torch.allclose(weights[before.item_ranks == r], moved[after.item_ranks == place])


@given(counts(), st.randoms(use_true_random=False))
def test_permuting_items_permutes_weights(table, shuffle):
    window = UpdateWindow.from_counts(table)
    order = list(range(window.item_count))
    shuffle.shuffle(order)
    moved = UpdateWindow([window.rank[i] for i in order], [window.microbatch[i] for i in order],
                         world_size=window.world_size, microbatch_counts=window.microbatch_counts)
    for dials in BASIC_KEYS:
        setting = Setting(*dials)
        assert torch.equal(predict_weights(setting, window)[order], predict_weights(setting, moved))


# ---- names

@pytest.mark.parametrize("dials", [dials for dials in BASIC_KEYS if Setting(*dials) != RIGHT])
def test_every_plain_setting_has_its_own_name_where_the_window_tells(dials):
    gradients = generic_gradients(TELLING.item_count)
    explanations = explain_update(simulated_step(TELLING, gradients, *dials), gradients, TELLING)
    assert explanations[0].key == BASIC_KEYS[dials]
    assert explanations[0].setting == Setting(*dials)
    assert set(names(explanations)) <= {BASIC_KEYS[dials], "pure-scale"}


@pytest.mark.parametrize(
    "key, setting", [(key, s) for key, (_, settings) in SPECIAL.items() for s in settings], ids=str)
def test_every_special_setting_has_its_name(key, setting):
    window = SPECIAL[key][0]
    weights = predict_weights(setting, window)
    gradients = generic_gradients(window.item_count)
    assert diagnosis_key(setting, window) == key
    assert setting in [e.setting for e in explain_weights(weights, window)]
    assert explain_weights(weights, window)[0].key == key
    assert explain_update(weights @ gradients, gradients, window)[0].key == key


@pytest.mark.parametrize(("setting", "key", "words"), [
    (Setting("round", "mean", "sum"), "mean-of-microbatch-means", r"were divided by their count together \(3, 7"),
    (Setting("round", "sum", "sum"), "sum-of-microbatch-means", r"number k were divided"),
    (Setting("share", "mean", "sum"), "mean-of-microbatch-means", r"its rank's share n_r/N of the items \(5 on rank 0"),
    (Setting("microbatch", "every", "sum"), "mean-of-microbatch-means", r"the 5 microbatches of all ranks")])
def test_means_of_microbatches_across_ranks_are_told_as_what_they_are(setting, key, words):
    window = UpdateWindow.from_counts([[1, 4], [2, 3, 5]]) if setting.microbatches == "every" else TELLING
    gradients = generic_gradients(window.item_count)
    first = explain_update(predict_weights(setting, window) @ gradients, gradients, window)[0]
    assert (first.key, first.setting) == (key, setting) and re.search(words, first.sentence), first.sentence


def test_with_one_microbatch_the_rank_has_the_name():
    window = UpdateWindow.from_counts([2, 6])
    weights = predict_weights(Setting("microbatch", "mean", "mean"), window)
    assert explain_weights(weights, window)[0].key == "mean-of-rank-means"


def test_with_one_rank_the_microbatches_have_the_name():
    window = UpdateWindow.from_counts([[2, 6]])
    weights = predict_weights(Setting("rank", "mean", "mean"), window)
    assert explain_weights(weights, window)[0].key == "divided-twice"


def test_a_ranks_own_window_count_has_a_second_name_when_there_are_microbatches():
    weights = predict_weights(Setting("rank", ranks="mean"), TELLING)
    assert "local-window-count" in explain_weights(weights, TELLING)[0].aliases
    one = UpdateWindow.from_counts([2, 6])
    told = explain_weights(predict_weights(Setting("rank", ranks="mean"), one), one)[0]
    assert "local-window-count" not in told.aliases


@pytest.mark.parametrize(("counts", "active"), [([2, 6], True), ([2, 0, 6], False)])
def test_where_no_rank_is_empty_the_mean_of_rank_means_is_that_of_the_active_ranks_too(counts, active):
    window = UpdateWindow.from_counts(counts)
    told = explain_weights(predict_weights(Setting("rank", ranks="mean"), window), window)[0]
    assert told.key == "mean-of-rank-means" and ("active-ranks" in told.aliases) == active


def test_right_weights_have_no_key_and_nothing_else_is_said():
    assert names(explain_weights(TELLING.expected_weights, TELLING)) == [None]
    assert names(explain_weights(WEIGHTED.expected_weights, WEIGHTED)) == [None]


@pytest.mark.parametrize("factor, words", [
    (-1.0, "sign"), (2.0, "lost ½"), (0.5, "division by P = 2"), (3.0, "K = 3"), (0.37, "clipping"),
    (15.0, "no division by 15")])
def test_a_factor_on_right_weights_is_a_pure_scale_with_a_likely_cause(factor, words):
    last = explain_weights(factor * TELLING.expected_weights, TELLING)[-1]
    assert last.key == "pure-scale" and last.factor == pytest.approx(factor)
    assert words in last.sentence


def test_one_number_alone_is_no_evidence_of_a_factor():
    gradients = generic_gradients(TELLING.item_count, 1)
    right = TELLING.expected_weights @ gradients
    assert explain_update(0.37 * right, gradients, TELLING)[0].key == "unexplained"
    assert explain_update(-right, gradients, TELLING)[0].key == "pure-scale"


def test_one_parameter_is_enough_to_name_a_setting():
    window = UpdateWindow.from_counts([2, 6])
    gradients = torch.tensor([1.0, 1, 3, 3, 3, 3, 3, 3]).double()[:, None]
    assert explain_update(torch.tensor([2.0]), gradients, window)[0].key == "mean-of-rank-means"
    assert explain_update(torch.tensor([2.5]), gradients, window)[0].key is None


def test_a_factor_on_top_of_wrong_weights_leaves_their_name():
    gradients = generic_gradients(TELLING.item_count)
    update = 0.3 * predict_weights(Setting("rank", ranks="mean"), TELLING) @ gradients
    best = explain_update(update, gradients, TELLING)[0]
    assert best.key == "mean-of-rank-means" and "factor 3/10" in best.sentence


def test_nonsense_is_unexplained():
    gradients = generic_gradients(TELLING.item_count)
    assert names(explain_update(generic_gradients(1, seed=3)[0], gradients, TELLING)) == ["unexplained"]
    assert names(explain_update(torch.full((6,), torch.nan), gradients, TELLING)) == ["unexplained"]
    assert names(explain_update(torch.zeros(6), gradients, TELLING)) == ["no-update"]


def test_float32_updates_are_named_at_their_tolerance():
    gradients = generic_gradients(TELLING.item_count, 40)
    for dials, key in BASIC_KEYS.items():
        update = (predict_weights(Setting(*dials), TELLING) @ gradients).float()
        assert explain_update(update, gradients, TELLING, rtol=2e-5)[0].key == key


def test_unknown_weights_fit_anything():
    weights = predict_weights(Setting("rank", ranks="mean"), TELLING)
    weights[3] = torch.nan
    assert explain_weights(weights, TELLING)[0].key == "mean-of-rank-means"


def test_a_rank_whose_weights_are_zero_makes_no_setting_fit_that_divides_by_them():
    window = UpdateWindow.from_counts([2, 3, 2], sample_weights=[[1, 2], [0.5, 2, 1], [0, 0]])
    mean, twice = (predict_weights(Setting(*dials), window) for dials in (("rank", "sum", "mean"),
                                                                          ("window", "sum", "twice")))
    assert mean.tolist() == pytest.approx([1 / 9, 2 / 9, 1 / 21, 4 / 21, 2 / 21, 0, 0])
    assert explain_weights(mean, window)[0].key == "mean-of-rank-means"
    assert [e.key for e in explain_weights(twice, window)] == ["divided-twice", "pure-scale"]
    assert not any(setting.items == "unweighted" and setting.divisor == "rank" for pair in ambiguous(window)
                   for setting in pair)


def test_many_items_are_named_with_the_plain_dials():
    window = UpdateWindow.from_counts([3000, 4000])
    gradients = torch.cat([torch.ones(3000), 2 * torch.ones(4000)])[:, None].double()
    assert explain_update(torch.tensor([1.5]), gradients, window)[0].key == "mean-of-rank-means"


def test_one_gradient_per_slot_is_accepted_and_padding_left_out():
    window, _ = SPECIAL["padding-counted"]
    gradients = generic_gradients(len(window.rank))
    update = predict_weights(Setting("padded-window"), window) @ gradients[window.item_slots]
    assert explain_update(update, gradients, window)[0].key == "padding-counted"


def test_copies_of_an_example_counted_as_two_are_named():
    window = UpdateWindow.from_counts([2, 2], examples=[[0, 1], [2, 0]])
    gradients = generic_gradients(4)
    gradients[3] = gradients[0]
    assert explain_update(gradients.mean(0), gradients, window)[0].key == "duplicated-items"
    assert explain_update(gradients[:3].mean(0), gradients, window)[0].key is None


@pytest.mark.parametrize("update, gradients", [
    (torch.ones(3), torch.ones(15, 2)), (torch.ones(2), torch.ones(4, 2))])
def test_shapes_that_do_not_fit_are_refused(update, gradients):
    with pytest.raises(ValueError, match=r"\[D\] and \[N, D\]"):
        explain_update(update, gradients, TELLING)


# ---- beyond one sum of item gradients

def test_blocks_that_are_treated_differently_are_named():
    window = UpdateWindow.from_counts([2, 6])
    shared, expert = generic_gradients(8, 4), generic_gradients(8, 5, seed=1)
    right = window.expected_weights
    blocks = {"shared": (right @ shared, shared), "expert": (2 * right @ expert, expert)}
    best = explain_blocks(blocks, window)[0]
    assert best.key == "parameter-groups-differ"
    assert "shared: right" in best.sentence and "expert: every item weighed 1/4" in best.sentence
    blocks["expert"] = (right @ expert, expert)
    assert explain_blocks(blocks, window)[0].key is None
    wrong = predict_weights(Setting("rank", ranks="mean"), window)
    assert explain_blocks({"a": (wrong @ shared, shared), "b": (wrong @ expert, expert)}, window)[0].key == \
        "mean-of-rank-means"


def test_a_second_term_with_another_scale_is_named():
    window, parts = UpdateWindow.from_counts([[2, 6], [1, 3]]), UpdateWindow.from_counts([[1, 1], [1, 1]])
    items, balance = generic_gradients(12), generic_gradients(4, seed=1)
    right = window.expected_weights @ items
    explain = lambda update: explain_two_terms(update, items, window, balance, parts)  # noqa: E731
    assert names(explain(right + balance.mean(0))) == [None]
    best = explain(right + balance.sum(0))[0]
    assert best.key == "second-term-misweighted" and "weighed 4 and should weigh 1" in best.sentence
    wrong = predict_weights(Setting("rank", ranks="mean"), window) @ items
    assert explain(wrong + balance.mean(0))[0].key == "mean-of-rank-means"
    assert explain(generic_gradients(1, seed=7)[0])[0].key == "unexplained"


def test_gradients_from_before_the_window_are_seen():
    gradients, before = generic_gradients(TELLING.item_count, 30), generic_gradients(2, 30, seed=1)
    right = TELLING.expected_weights @ gradients
    update = right + 0.5 * before[0]
    assert explain_update(update, gradients, TELLING)[0].key == "unexplained"
    assert explain_update(update, gradients, TELLING, outside=before)[0].key == "window-boundaries"
    assert explain_update(right, gradients, TELLING, outside=before)[0].key is None
    alone = explain_update(before.mean(0), gradients, TELLING, outside=before)[0]
    assert alone.key == "window-boundaries" and "none of its own items" in alone.sentence
    mixed = explain_update(0.2 * gradients[0] + before[1], gradients, TELLING, outside=before)[0]
    assert mixed.key == "window-boundaries" and mixed.weights.allclose(0.2 * torch.eye(TELLING.item_count).double()[0])
    strange = generic_gradients(1, 30, seed=2)[0]
    assert explain_update(strange, gradients, TELLING, outside=before)[0].key == "unexplained"


def test_a_reported_value_is_compared_with_the_objective():
    window, losses = UpdateWindow.from_counts([2, 6]), torch.tensor([1.0, 1, 3, 3, 3, 3, 3, 3])
    assert explain_report(2.5, losses, window).key is None
    wrong = explain_report(2.0, losses, window)
    assert wrong.key == "wrong-return-value" and wrong.setting == Setting("rank", ranks="mean")
    assert "2.5" in wrong.sentence and "own count" in wrong.sentence


# ---- what a window hides

def test_equal_counts_hide_the_mean_of_rank_means():
    pairs = ambiguous(UpdateWindow.from_counts([4, 4]))
    assert (RIGHT, Setting("rank", ranks="mean")) in pairs
    assert (RIGHT, Setting("rank", ranks="mean")) not in ambiguous(UpdateWindow.from_counts([2, 6]))


def test_as_many_microbatches_as_ranks_hide_which_of_them_divided_too_often():
    pair = (Setting("window", ranks="mean"), Setting("window", "mean"))
    assert pair in ambiguous(UpdateWindow.from_counts([[2, 1], [1, 3]]))
    assert pair not in ambiguous(UpdateWindow.from_counts([[2, 1, 1], [1, 3, 2]]))


def test_the_telling_window_tells_all_plain_settings_apart():
    plain = {Setting(*dials) for dials in BASIC_KEYS}
    assert not [pair for pair in ambiguous(TELLING) if set(pair) <= plain]


# ---- a thousand windows

def test_right_steps_are_never_rejected_in_a_thousand_windows():
    for seed in range(1000):
        rng = random.Random(seed)
        window = UpdateWindow.from_counts(random_counts(rng))
        gradients = generic_gradients(window.item_count, rng.choice([1, 3, 8]), seed)
        means = [gradients[window.item_groups == g].mean(0) for g in window.item_groups.unique()]
        parts = window.item_groups.unique(return_counts=True)[1].double()
        scaled = sum(n * mean for n, mean in zip(parts, means, strict=True)) / window.item_count
        ddp = sum(gradients[window.item_ranks == r].sum(0) * (window.world_size / window.item_count)
                  for r in range(window.world_size)) / window.world_size
        for update, rtol in ((gradients.mean(0), 1e-6), (scaled, 1e-6), (ddp, 1e-6),
                             (gradients.mean(0).float(), 2e-5)):
            assert names(explain_update(update, gradients, window, rtol)) == [None], window.counts


def test_no_wrong_step_is_misnamed_in_a_thousand_windows():
    """Its own setting is always found, and comes first unless this window gives another the same weights."""
    named = 0
    for seed in range(1000):
        rng = random.Random(seed)
        window = random_window(rng)
        gradients = generic_gradients(window.item_count, seed=seed)
        offered = catalogue(window)
        for setting in rng.sample(offered, min(6, len(offered))):
            weights = predict_weights(setting, window)
            best, *others = explain_update(weights @ gradients, gradients, window)
            if same(weights, window.expected_weights):
                assert best.key is None
            elif best.key != diagnosis_key(setting, window):
                assert same(best.weights, weights), (window.counts, setting, best)
            else:
                named += 1
                assert setting in [e.setting for e in (best, *others)] or same(best.weights, weights)
    assert named > 4000


# ---- sentences

def all_sentences():
    for key, (window, settings) in [*SPECIAL.items(), ("", (TELLING, [Setting(*d) for d in BASIC_KEYS]))]:
        for setting in settings:
            for explanation in explain_weights(predict_weights(setting, window), window):
                yield key, explanation


def test_sentences_have_at_most_two_lines_and_the_numbers_of_the_window():
    for key, explanation in all_sentences():
        lines = explanation.sentence.splitlines()
        assert len(lines) <= 2 and all(line.endswith(".") and len(line) <= 240 for line in lines), key
        assert any(character.isdigit() for character in explanation.sentence)


def test_a_sentence_names_all_three_dials():
    for _, explanation in all_sentences():
        if explanation.setting and explanation.key:
            first = explanation.sentence.splitlines()[0]
            assert "divided" in first or "count" in first or "weighted" in first or "dealt" in first, first
            assert "microbatch" in first and "rank" in first, first


def test_the_worked_example_is_told_with_its_numbers():
    window = UpdateWindow.from_counts([2, 6])
    sentence = explain_weights(predict_weights(Setting("rank", ranks="mean"), window), window)[0].sentence
    assert sentence == (
        "Each rank's sum was divided by that rank's own count (2 on rank 0, 6 on rank 1), there was one "
        "microbatch (K = 1) and ranks were averaged (P = 2).\n"
        "So an item of rank 0 (2 items) weighed 1/4 and an item of rank 1 (6 items) 1/12; "
        "each should weigh 1/8.")
