"""Lesson 6: public reports as dials. Choose one, see what its items weighed, and turn the dials until they are right.

The counts are small, with the shape of the report; docs/field_guide.md has all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import ipywidgets as widgets

from autograder.dials import RIGHT, Setting, explain_weights, predict_weights
from autograder.labs import blocks, figures
from autograder.labs.panel import Panel
from autograder.window import UpdateWindow

DIVISORS = {"nothing": "nothing", "its microbatch's count": "microbatch", "its rank's count": "rank",
            "the window's count": "window"}
COMBINATIONS = ("sum", "mean")


@dataclass(frozen=True)
class Report:
    """A public report: where it stands, what was said to happen, counts[r][k] of its example, its dials."""

    source: str
    story: str
    counts: tuple[tuple[int, ...], ...]
    setting: Setting

    @property
    def window(self) -> UpdateWindow:
        return UpdateWindow.from_counts(self.counts)


REPORTS: tuple[Report, ...] = (
    Report("huggingface/transformers#34242", "the count covered the rank's own window, and ranks were averaged",
           ((1, 1), (2, 4)), Setting("rank", "sum", "mean")),
    Report("huggingface/transformers#34191", "each microbatch took the mean over its own labels, then the mean over K",
           ((1, 3),), Setting("microbatch", "mean", "sum")),
    Report("huggingface/transformers#46731", "each microbatch took its own mean, and nothing divided by K",
           ((1, 2, 3),), Setting("microbatch", "sum", "sum")),
    Report("meta-pytorch/torchtune#1917", "divided by the tokens of all ranks, after the wrapper had averaged ranks",
           ((2, 1), (1, 3)), Setting("window", "sum", "mean")),
    Report("facebookresearch/dinov3#250", "gradients were added over ranks while every rank used its own mean",
           ((2,), (2,)), Setting("rank", "sum", "sum")),
    Report("facebookresearch/fairchem#269", "as many graphs on every rank, but not as many atoms: the item is an atom",
           ((2,), (10,)), Setting("rank", "sum", "mean")),
)


def weights_picture(panels: Mapping[str, Sequence[float]], window: UpdateWindow, title: str,
                    words: str) -> figures.Picture:
    """Draw what one item of every microbatch weighs, as multiples of 1/N; panels: name → weights[r, k] in order."""
    several = max(window.microbatch_counts) > 1
    places = [blocks.Block(r, count, f"{count}" if several else f"{count} items")
              for r, row in enumerate(window.counts) for count in row]
    return blocks.weight_blocks(panels, places, title, words, columns=min(3, len(panels)))


def by_microbatch(setting: Setting, window: UpdateWindow) -> list[float]:
    """What one item of every microbatch weighs under these dials, in order of rank and microbatch."""
    weights = predict_weights(setting, window)
    found = []
    for group in range(sum(window.microbatch_counts)):
        mine = window.item_groups == group
        found.append(float(weights[mine][0]) if bool(mine.any()) else 0.0)
    return found


def reading(setting: Setting, window: UpdateWindow) -> str:
    """What the autograder says of these dials on this window."""
    best = explain_weights(predict_weights(setting, window), window)[0]
    return "Right: every item weighs 1/N." if best.key is None else f"{best.key}: {best.sentence}"


def table() -> str:
    """Return the reports as a Markdown table, the reading of the lab without a kernel."""
    rows = [["report", "items, ranks divided by \\|", "dials", "one item weighs (times 1/N)", "the autograder says"],
            ["---"] * 5]
    for report in REPORTS:
        counts = " \\| ".join(" + ".join(map(str, row)) for row in report.counts)
        weights = ", ".join(blocks.multiple(w * report.window.item_count)
                            for w in by_microbatch(report.setting, report.window))
        key = explain_weights(predict_weights(report.setting, report.window), report.window)[0].key
        rows.append([report.source, counts, str(report.setting), weights, f"`{key}`"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def lab(report: Report = REPORTS[0]) -> WildLab:
    """Return the lab, set to `report`; the last line of a cell shows it."""
    return WildLab(report)


class WildLab(Panel):
    """A report, its three dials, and the weights and the sentence that follow from them."""

    def __init__(self, report: Report) -> None:
        self._divisor = widgets.Dropdown(options=DIVISORS, description="divided by")
        self._microbatches = widgets.ToggleButtons(options=COMBINATIONS, description="microbatches")
        self._ranks = widgets.ToggleButtons(options=COMBINATIONS, description="ranks")
        for buttons in (self._microbatches, self._ranks):
            buttons.style.button_width = "6em"
        super().__init__({report.source: report for report in REPORTS}, report,
                         [[], [self._divisor, self._microbatches, self._ranks]], "report", layout={"width": "28em"})

    def read(self) -> Report:
        """The report with the dials as they stand."""
        return replace(self._report, setting=Setting(self._divisor.value, self._microbatches.value, self._ranks.value))

    def write(self, report: Report) -> None:
        self._report = report
        dials = report.setting
        self._divisor.value, self._microbatches.value, self._ranks.value = (
            dials.divisor, dials.microbatches, dials.ranks)

    def called(self, report: Report) -> str:
        return report.source

    def draw(self, report: Report) -> figures.Picture:
        window = report.window
        title = f"{report.source}: {report.story}" if report == self._report else "Your dials"
        words = (f"{reading(report.setting, window)} Blocks are as wide as a microbatch has items and as high as one "
                 "item weighs.")
        return weights_picture({"as the objective says": by_microbatch(RIGHT, window),
                                "as these dials do": by_microbatch(report.setting, window)}, window, title, words)
