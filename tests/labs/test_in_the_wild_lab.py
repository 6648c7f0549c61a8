"""Lesson 6's lab: reports as dials, and what their items weigh."""

import pytest
from labs.drawn import headline

from autograder.dials import RIGHT, explain_weights, predict_weights
from autograder.labs import in_the_wild
from autograder.labs.in_the_wild import REPORTS, by_microbatch


@pytest.mark.parametrize("report", REPORTS, ids=lambda r: r.source)
def test_each_report_is_a_mistake_that_its_window_shows(report):
    told = explain_weights(predict_weights(report.setting, report.window), report.window)
    assert told[0].key is not None
    wrong, right = by_microbatch(report.setting, report.window), by_microbatch(RIGHT, report.window)
    assert any(w != pytest.approx(r) for w, r, n in zip(
        wrong, right, [n for row in report.counts for n in row], strict=True) if n)


def test_the_lab_starts_with_the_reports_dials_and_follows_them():
    lab = in_the_wild.lab(REPORTS[1])
    assert lab.state == REPORTS[1] and "mean-of-microbatch-means" in lab._view.value
    lab._divisor.value, lab._microbatches.value, lab._ranks.value = "window", "sum", "sum"
    assert "every item weighs 1/N" in lab._view.value and "mean-of-microbatch-means" not in lab._view.value
    assert headline(lab) == "Your dials" and lab._presets.value == REPORTS[1].source
    lab._presets.value = REPORTS[3].source
    assert lab.state == REPORTS[3] and "global-divisor-then-mean" in lab._view.value
    assert headline(lab).startswith(REPORTS[3].source)


def test_the_table_has_every_report():
    table = in_the_wild.table()
    assert all(report.source in table for report in REPORTS) and table.count("\n") == len(REPORTS) + 1
