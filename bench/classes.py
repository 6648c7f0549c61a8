"""A class graded three ways: by plain nbgrader with torch.multiprocessing.spawn, by one of our workers, by two.

All grade the same simulated submissions of item_mean with the same checks. Plain nbgrader runs them in notebook
kernels, one after another, each check starting its ranks (and its judge) with torch.multiprocessing's spawn; the
trials of a check share one start, which is kinder to it than a start for each.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median

import nbformat
import psutil

from autograder.classroom import simulate
from autograder.classroom.sealed import sandbox

ROOT = Path(__file__).resolve().parents[1]
ASSIGNMENT = "item_mean"
OURS = """from autograder.classroom import configure

c = get_config()
configure(c, root={root!r})
"""
STOCK = """c = get_config()
c.CourseDirectory.course_id = "stock"
c.CourseDirectory.root = {root!r}
c.Execute.timeout = 1200
"""


@dataclass
class Graded:
    """One way of grading a class: seconds in all, and what all of its processes together held (MiB, every second)."""

    way: str
    submissions: int
    seconds: float = 0.0
    memory: list[float] = field(default_factory=list)

    @property
    def each(self) -> float:
        return self.seconds / self.submissions

    @property
    def early_and_late(self) -> tuple[float, float]:
        """Median memory of the second and of the last quarter of the time (the first is spent on starting)."""
        quarter = max(1, len(self.memory) // 4)
        return median(self.memory[quarter:2 * quarter] or [0.0]), median(self.memory[-quarter:] or [0.0])


def grade_classes(students: int, stock_students: int) -> Iterator[Graded]:
    """The same class, graded each way. SystemExit, at once, where there is no sandbox for ours."""
    if students:
        try:
            sandbox.require()
        except sandbox.NoSandbox as error:
            raise SystemExit(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="bench-class-") as scratch:
        for way, config, count, command in (
                ("stock, spawn", STOCK, stock_students, ("nbgrader", "autograde", ASSIGNMENT)),
                ("ours, 1 worker", OURS, students, ("autograder", "grade", ASSIGNMENT, "--jobs", "1")),
                ("ours, 2 workers", OURS, students, ("autograder", "grade", ASSIGNMENT, "--jobs", "2"))):
            if count == 0:
                continue
            root = Path(scratch) / way.replace(", ", "-").replace(" ", "-")
            _course(root, config, count)
            environment = {"AUTOGRADER_START_METHOD": "spawn"} if config is STOCK else {}
            graded = Graded(way, count)
            began = time.perf_counter()
            _run(root, *command, memory=graded.memory, **environment)
            graded.seconds = time.perf_counter() - began
            yield graded
            shutil.rmtree(root)


def _course(root: Path, config: str, students: int) -> None:
    """A course with so many submissions of people who mean well: right answers and misconceptions."""
    shutil.copytree(ROOT / "source" / ASSIGNMENT, root / "source" / ASSIGNMENT)
    (root / "nbgrader_config.py").write_text(config.format(root=str(root)))
    _run(root, "nbgrader", "generate_assignment", ASSIGNMENT)
    released = nbformat.read(root / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4)
    material = simulate.Material(ROOT, ASSIGNMENT, released)
    for submission in islice(_well_meant(material), students):
        simulate.write(material, submission, root / "submitted")


def _well_meant(material: simulate.Material) -> Iterator[simulate.Submission]:
    """Plain nbgrader would run hostile ones with the rights of whoever measures, and loops only measure deadlines."""
    for one in simulate.submissions(material, 10_000):
        keys = {key for found in one.diagnoses.values() for key in found}
        if one.story == "right" or (keys and not keys & {"timed-out", "rank-crashed"}):
            yield one


def _run(root: Path, *command: str, memory: list[float] | None = None, **environment: str) -> None:
    path = os.pathsep.join(filter(None, (str(Path(sys.executable).parent), os.environ.get("PATH"))))
    with (root / "said.txt").open("w+") as said, subprocess.Popen(
            [sys.executable, "-m", *command], cwd=root, stdout=said, stderr=said, stdin=subprocess.DEVNULL,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **environment}) as process:
        if memory is not None:
            threading.Thread(target=_weigh, args=(process, memory), daemon=True).start()
        if process.wait():
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{said.read()[-3000:]}")


def _weigh(grader: subprocess.Popen, memory: list[float]) -> None:
    """Once a second, what a process and all below it hold (MiB; shared pages divided among those who share them)."""
    while grader.poll() is None:
        held = 0
        try:
            for process in (top := psutil.Process(grader.pid), *top.children(recursive=True)):
                with suppress(psutil.Error):  # gone meanwhile
                    held += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            return
        memory.append(held / 2**20)
        time.sleep(1.0)
