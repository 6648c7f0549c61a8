"""Stand-ins for tests of the grader that need no sandbox: workers that mark by a rule, in this process.

A grade cell is right when the answer cell before it holds the answer that `sealed_course.RIGHT` has. Every task that is
graded is a line in the file that FAKE_TASKS names; FAKE_CREDIT, where set, is the credit of what is not right.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sealed_course import RIGHT  # noqa: E402

from autograder.classroom.grade import command, submission  # noqa: E402
from autograder.classroom.grade.submission import Result, Task  # noqa: E402
from autograder.classroom.sealed.outcomes import Mark  # noqa: E402
from autograder.verdict import Verdict  # noqa: E402


class FakeWorkers:
    count = 2

    def __init__(self, jobs=None, scheduler=None) -> None:
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        pass

    def map(self, tasks):
        for name, task, only in tasks:
            with open(os.environ["FAKE_TASKS"], "a") as lines:
                lines.write(f"{name[0]} {only or 'all'}\n")
            time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
            yield name, task, marked(task, only).to_dict()


def mark_by_rule(monkeypatch, tasks: Path) -> None:
    """Have `grade` in this process use these workers, and write what they are asked to the file `tasks`."""
    tasks.write_text("")
    monkeypatch.setenv("FAKE_TASKS", str(tasks))
    monkeypatch.setattr(command, "Workers", FakeWorkers)
    monkeypatch.setattr(command, "require", lambda: None)


def marked(task: Task, only: str | None) -> Result:
    cells, sources = submission._cells(task, only)
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    marks = {}
    for name in sources:
        right = cells[names.index(f"{name}_answer")].source == RIGHT.get(name)
        credit = 1.0 if right else float(os.environ.get("FAKE_CREDIT", "0"))
        marks[name] = Mark("right" if right else "wrong",
                           Verdict(name, right, credit, None if right else "wrong-value", "A reason."))
    return Result(task.key, task.digest, {names.index(name): name for name in sources}, {}, marks)


if __name__ == "__main__":  # the command, with these workers: for tests that kill it
    command.Workers = FakeWorkers
    command.require = lambda: None
    from autograder.__main__ import main

    sys.exit(main())
