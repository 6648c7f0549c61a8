"""A class graded three ways: by plain nbgrader with torch.multiprocessing.spawn, by one of our workers, by two.

All grade the same simulated submissions of item_mean with the same checks. Plain nbgrader runs them in notebook
kernels, one after another, each check starting its ranks (and its judge) with torch.multiprocessing's spawn; the
trials of a check share one start, which is kinder to it than a start for each.
"""
from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import nbformat

from autograder.classroom import simulate

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


def class_seconds(students: int, stock_students: int) -> Iterator[tuple[str, int, float, float]]:
    """(way, submissions, seconds, MiB of the largest process so far) for each way of grading."""
    with tempfile.TemporaryDirectory(prefix="bench-class-") as scratch:
        for way, config, count, command in (
                ("stock, spawn", STOCK, stock_students, ("nbgrader", "autograde", ASSIGNMENT)),
                ("ours, 1 worker", OURS, students, ("autograder", "grade", ASSIGNMENT, "--jobs", "1")),
                ("ours, 2 workers", OURS, students, ("autograder", "grade", ASSIGNMENT, "--jobs", "2"))):
            if count == 0:
                continue
            root = Path(scratch) / way.replace(", ", "-").replace(" ", "-")
            _course(root, config, count)
            began = time.perf_counter()
            environment = {"AUTOGRADER_START_METHOD": "spawn"} if config is STOCK else {}
            _run(root, *command, **environment)
            took = time.perf_counter() - began
            yield way, count, took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
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


def _run(root: Path, *command: str, **environment: str) -> None:
    path = os.pathsep.join(filter(None, (str(Path(sys.executable).parent), os.environ.get("PATH"))))
    run = subprocess.run(
        [sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **environment})
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{(run.stdout + run.stderr)[-3000:]}")
