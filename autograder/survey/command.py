"""`python -m autograder survey`: measure real trainers, print the table, write it as Markdown."""
from __future__ import annotations

import argparse
import platform
import sys
import time
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="WORD", help="only trainers and settings that contain WORD")
    parser.add_argument("--output", type=Path, default=Path("survey.md"), metavar="FILE",
                        help="where the Markdown goes (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers as JSON too")
    parser.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS",
                        help="for one trainer (default: %(default)g)")


def run(arguments: argparse.Namespace) -> int:
    """0 when every trainer that is installed could be measured, 1 when one failed."""
    from autograder.survey.run import survey
    from autograder.survey.table import to_markdown, to_text
    from autograder.survey.trainers import TRAINERS

    word = (arguments.only or "").lower()
    chosen = [t for t in TRAINERS if word in f"{t.name} {t.setting}".lower()]
    if not chosen:
        print(f"No trainer or setting contains {arguments.only!r}.", file=sys.stderr)
        return 2
    began, findings = time.monotonic(), []
    for finding in survey(chosen, arguments.deadline, tell=lambda t: print(
            f"[{len(findings) + 1}/{len(chosen)}] {t.name}: {t.setting}", file=sys.stderr, flush=True)):
        findings.append(finding)
    seconds = time.monotonic() - began
    print(to_text(findings))
    machine = f"Python {platform.python_version()}, {platform.system()}"
    arguments.output.write_text(to_markdown(findings, seconds, machine), encoding="utf-8")
    if arguments.json:
        import json

        arguments.json.write_text(json.dumps([finding.to_dict() for finding in findings], indent=1))
    print(f"\n{len(findings)} rows in {seconds:.0f} s, written to {arguments.output}.")
    return int(any(finding.reason and not finding.skipped for finding in findings))
