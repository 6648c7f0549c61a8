"""The survey as a table: for a terminal, and as Markdown."""
from __future__ import annotations

import math
from collections.abc import Sequence

from autograder.survey.run import Finding, Update
from autograder.verdict import readable_number

HEAD = ("trainer", "version", "setting", "update window", "weight of one token", "dials", "reason",
        "global token mean?")


def to_text(findings: Sequence[Finding]) -> str:
    """Aligned columns, one line for each update."""
    lines = [HEAD, *(line for finding in findings for line in _lines(finding))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines]
    return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:]])


def to_markdown(findings: Sequence[Finding], seconds: float, machine: str) -> str:
    """A page with the table, and what was measured how."""
    versions = sorted({finding.version for finding in findings if finding.version})
    table = [_row(HEAD), _row(["---"] * len(HEAD)),
             *(_row([cell.replace("|", "\\|") for cell in line]) for f in findings for line in _lines(f))]
    right = sum(finding.equal for finding in findings)
    ran = sum(bool(finding.updates) for finding in findings)
    return "\n".join([
        "# What real trainers do with uneven token counts", "",
        f"Measured by `python -m autograder survey` with {', '.join(versions)} ({machine}, {seconds:.0f} s): "
        f"{right} of {ran} settings make the update of the mean over all tokens.", "",
        "Each trainer ran on real gloo processes, with a model and sequences whose token gradients are independent. "
        "The weight of every token was recovered from the gradient that the optimizer used: u = Σ wᵢ gᵢ. The dials "
        "are *what a microbatch's loss sum was divided by*, *how microbatches combine*, *how ranks combine*. The "
        "counts are tokens of each rank's microbatches, ranks divided by |.", "", *table, ""])


def _lines(finding: Finding) -> list[tuple[str, ...]]:
    head = (finding.trainer, finding.version, finding.setting)
    if not finding.updates:
        return [(*head, "", "", "", finding.reason, "skipped" if finding.skipped else "failed")]
    return [(*(head if number == 0 else ("", "", "")), _counts(update), _weights(update), update.dials,
             update.key or "", _answer(finding, update)) for number, update in enumerate(finding.updates)]


def _answer(finding: Finding, update: Update) -> str:
    if finding.missed:
        return f"no, never seen: sequence {', '.join(map(str, finding.missed))}"
    if finding.repeated:
        return f"no, seen twice: sequence {', '.join(map(str, finding.repeated))}"
    if update.equal:
        return "yes"
    return "no" if math.isnan(update.error) else f"no, off by up to {update.error:.0%}"


def _counts(update: Update) -> str:
    return " | ".join(" + ".join(map(str, row)) or "none" for row in update.counts)


def _weights(update: Update) -> str:
    """One number where all tokens weigh the same, one per rank, or one per microbatch."""
    rows = [[w for w in row if w is not None] for row in update.weights]
    every = [w for row in rows for w in row]
    right = "" if update.equal else f" (right: {_number(update.expected)})"
    if _alike(every):
        return f"all {_number(every[0])}{right}"
    return " | ".join(", ".join(map(_number, row[:1] if _alike(row) else row)) or "–" for row in rows) + right


def _alike(weights: Sequence[float]) -> bool:
    return len(weights) > 0 and max(weights) - min(weights) <= 1e-6 * max(map(abs, weights))


def _number(value: float) -> str:
    return readable_number(value).split(" ")[0]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
