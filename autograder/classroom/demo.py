"""`make demo`: the whole life of an assignment, with real nbgrader commands, in a scratch folder.

An instructor generates and releases item_mean; nine learners submit real notebooks, each with an answer from
the bank of right and wrong answers; the instructor collects, autogrades, gives feedback and exports marks.
The table at the end says what each learner got and why. The exit status is 0 when it is what it should be.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from time import monotonic

import nbformat
from nbgrader.api import Gradebook

from .sealed.outcomes import MIME
from .sealed.sandbox import NoSandbox, require
from .simulate import Material, Submission, grade_id

ASSIGNMENT = "item_mean"
EXERCISE = "synchronized_item_mean"  # the one whose answer differs between the learners
DEPENDS_ON_IT = ("sgd_step",)  # the solution of this one calls it

INSTRUCTOR_CONFIG = """from autograder.classroom import configure

c = get_config()
configure(c, root={root!r})
c.Exchange.root = {exchange!r}
c.ExchangeCollect.check_owner = False  # here all learners share one account of this machine
"""
LEARNER_CONFIG = """from autograder.classroom import configure

c = get_config()
configure(c, root={root!r})
c.Exchange.root = {exchange!r}
c.Exchange.assignment_dir = {root!r}
c.CourseDirectory.student_id = {student!r}  # instead of the account's name
"""


@dataclass
class Result:
    """What the gradebook and the graded notebook say about one submission."""

    points: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


STORIES = (  # learner, story, a file of the bank for EXERCISE ("": the solution), the key that the reason must carry
    ("ada", "right", "", None),
    ("ben", "untouched", "", None),
    ("cleo", "mean of rank means", "wrong_mean_of_rank_means", "mean-of-rank-means"),
    ("dina", "NaN from an empty rank", "wrong_nan_from_empty_rank", "nan-or-inf"),
    ("emil", "an empty rank leaves, the others wait", "wrong_empty_rank_leaves", "deadlock"),
    ("fay", "one rank crashes", "wrong_segfault", "rank-crashed"),
    ("gus", "right, by other collectives", "right_reduce_scatter", None),
    ("hana", "right, but noisy on stderr", "right_noisy", None),
    ("ivo", "right, one check copied, one deleted", "", None),
)


def the_class(material: Material) -> tuple[Submission, ...]:
    """The nine submissions of the demonstration."""
    files = {file.stem: file for kind in ("right", "wrong") for file in material.bank(EXERCISE, kind)}
    return tuple(
        Submission(
            student,
            story,
            {EXERCISE: files[answer].read_text()} if answer else {},
            {EXERCISE: (key,)} if key else {},
            untouched=story == "untouched",
            tampers="copied" in story,
        )
        for student, story, answer, key in STORIES
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--keep", metavar="DIR", help="work in this new folder and leave it there")
    keep = parser.parse_args(arguments).keep
    root = Path.cwd()
    bank = root / "tests" / "banks" / ASSIGNMENT / EXERCISE
    if not (root / "source" / ASSIGNMENT).is_dir() or not bank.is_dir():
        sys.exit(f"This needs source/{ASSIGNMENT} and {bank.relative_to(root)}: run it in a clone.")
    if keep:
        Path(keep).mkdir(parents=True)
        return Demo(root, Path(keep).resolve()).run()
    with tempfile.TemporaryDirectory(prefix="demo-") as scratch:
        return Demo(root, Path(scratch).resolve()).run()


class Demo:
    """One run in `scratch`: a course folder, an exchange, and one folder per learner."""

    def __init__(self, root: Path, scratch: Path):
        self.root, self.scratch = root, scratch
        self.course, self.exchange = scratch / "course", scratch / "exchange"
        self.started = monotonic()
        self.workers = min(4, os.cpu_count() or 1)
        self.submissions: tuple[Submission, ...] = ()

    def run(self) -> int:
        self.prepare()
        self.step("generate_assignment", self.course, "generate_assignment", ASSIGNMENT)
        self.step("release_assignment", self.course, "release_assignment", ASSIGNMENT)
        ada = STORIES[0][0]
        title = f"fetch_assignment ({ada}; the others get copies)"
        self.step(title, self.learner(ada), "fetch_assignment", ASSIGNMENT)
        released = nbformat.read(self.learner(ada) / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4)
        material = Material(self.root, ASSIGNMENT, released)
        self.submissions = the_class(material)
        for submission in self.submissions:
            file = self.learner(submission.student) / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
            file.parent.mkdir(exist_ok=True)
            nbformat.write(material.notebook(submission), file)
        self.submit()
        self.step("collect", self.course, "collect", ASSIGNMENT)
        self.autograde()
        self.step("generate_feedback", self.course, "generate_feedback", ASSIGNMENT)
        self.step("release_feedback", self.course, "release_feedback", ASSIGNMENT)
        self.step(f"fetch_feedback ({ada})", self.learner(ada), "fetch_feedback", ASSIGNMENT)
        grades = self.scratch / "grades.csv"
        self.step("export", self.course, "export", "--to", str(grades))

        results = {s.student: self.result(s.student) for s in self.submissions}
        maxima = self.maxima()
        print("\n" + "\n".join(table(self.submissions, results, maxima)))
        wrong = [*self.surprises(results, maxima), *self.loose_ends(grades)]
        for line in wrong:
            print(f"NOT AS IT SHOULD BE: {line}")
        if not wrong:
            seconds = monotonic() - self.started
            print(f"All {len(self.submissions)} came out as they should. {seconds:.0f} s in all.")
        return 1 if wrong else 0

    def prepare(self) -> None:
        self.exchange.mkdir()
        shutil.copytree(self.root / "source" / ASSIGNMENT, self.course / "source" / ASSIGNMENT)
        config = INSTRUCTOR_CONFIG.format(root=str(self.course), exchange=str(self.exchange))
        (self.course / "nbgrader_config.py").write_text(config)
        for student, *_ in STORIES:
            folder = self.learner(student)
            folder.mkdir(parents=True)
            config = LEARNER_CONFIG.format(root=str(folder), exchange=str(self.exchange), student=student)
            (folder / "nbgrader_config.py").write_text(config)

    def learner(self, student: str) -> Path:
        return self.scratch / "learners" / student

    def step(self, title: str, cwd: Path, *command: str) -> None:
        nbgrader(cwd, *command)
        self.say(title)

    def submit(self) -> None:
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = {
                pool.submit(nbgrader, self.learner(s.student), "submit", ASSIGNMENT): s for s in self.submissions
            }
            for job in as_completed(jobs):
                job.result()
                self.say(f"submit {jobs[job].student} ({jobs[job].story})")

    def autograde(self) -> None:
        """The class in parallel, each submission in its sandbox; without one, where there is none here."""
        command = ["grade", ASSIGNMENT]
        try:
            require()
        except NoSandbox as error:
            self.say(f"{error}\nThe demonstration's submissions are trusted: it goes on without.")
            command.append("--unsealed")
        called(self.course, "autograder", *command)
        self.say("python -m autograder " + " ".join(command))

    def say(self, what: str) -> None:
        print(f"[{monotonic() - self.started:4.0f} s] {what}", flush=True)

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.course / '.course' / 'gradebook.db'}")

    def maxima(self) -> dict[str, float]:
        with self.gradebook() as gradebook:
            cells = gradebook.find_notebook(ASSIGNMENT, ASSIGNMENT).grade_cells
            return {cell.name: cell.max_score for cell in cells}

    def result(self, student: str) -> Result:
        result = Result()
        with self.gradebook() as gradebook:
            for grade in gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student).grades:
                result.points[grade.name] = None if grade.needs_manual_grade else grade.score
        graded = self.course / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        for cell in nbformat.read(graded, as_version=4).cells:
            for output in cell.get("outputs", ()):
                verdict = output.get("data", {}).get(MIME, {}).get("verdict", {})
                if verdict.get("diagnosis"):
                    reason = f"{verdict['diagnosis']}: {verdict['message']}"
                    result.reasons[grade_id(cell)] = reason.split("\n")[0]
        return result

    def surprises(self, results: dict[str, Result], maxima: dict[str, float]) -> Iterable[str]:
        """Where points or reasons are not what the submissions deserve."""
        for submission in self.submissions:
            result = results[submission.student]
            for name, most in maxima.items():
                if name.endswith("_derivation"):  # marked by hand; an untouched one is worth nothing
                    expected = 0 if submission.untouched else None
                elif submission.untouched or (submission.diagnoses and name in (EXERCISE, *DEPENDS_ON_IT)):
                    expected = 0
                else:
                    expected = most
                got = result.points.get(name)
                if got != expected:
                    yield f"{submission.student} has {got} points for {name}, not {expected}"
            for name, keys in submission.diagnoses.items():
                if not any(key in result.reasons.get(name, "") for key in keys):
                    yield f"{submission.student}'s reason does not name {' or '.join(keys)}"

    def loose_ends(self, grades: Path) -> Iterable[str]:
        """What is missing from the exported table or the feedback, or should not be in it."""
        with grades.open(newline="") as file:
            exported = {row["student_id"] for row in csv.DictReader(file)}
        pages = list(self.course.glob(f"feedback/*/{ASSIGNMENT}/*.html"))
        fetched = list(self.learner(STORIES[0][0]).glob(f"{ASSIGNMENT}/feedback/*/*.html"))
        if exported != {s.student for s in self.submissions}:
            yield f"the exported table holds {sorted(exported)}"
        if len(pages) != len(self.submissions) or not fetched:
            yield f"there are {len(pages)} pages of feedback, {len(fetched)} fetched"
        if any("HIDDEN TESTS" in page.read_text() for page in pages):
            yield "feedback shows a hidden test"


def nbgrader(cwd: Path, *command: str) -> None:
    """Run an nbgrader command in `cwd`; raises SystemExit with its last words when it fails."""
    called(cwd, "nbgrader", *command)


def called(cwd: Path, module: str, *command: str) -> None:
    whole = [sys.executable, "-m", module, *command]
    run = subprocess.run(whole, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if run.returncode:
        raise SystemExit(f"{module} {' '.join(command)} failed in {cwd}:\n{(run.stdout + run.stderr)[-3000:]}")


def table(submissions: Iterable[Submission], results: dict[str, Result], maxima: dict[str, float]) -> Iterable[str]:
    """Learner, points per exercise, total, and the reasons below; quiz questions share a column."""
    columns: dict[str, list[str]] = {}
    for name in maxima:
        question = name.rpartition("_")[2]
        is_quiz = question[:1] == "q" and question[1:].isdigit()
        columns.setdefault("quiz" if is_quiz else name, []).append(name)
    for number, (title, names) in enumerate(columns.items(), 1):
        yield f"{number:3} = {title} ({sum(maxima[name] for name in names):g})"
    yield ""
    numbers = "".join(f"{number:>6}" for number in range(1, len(columns) + 1))
    yield f"{'learner':8}{numbers}{'total':>8}"
    for submission in submissions:
        result = results[submission.student]
        cells = []
        for names in columns.values():
            points = [result.points.get(name) for name in names]
            cells.append("hand" if None in points else f"{sum(points):g}")
        total = sum(points or 0 for points in result.points.values())
        yield f"{submission.student:8}" + "".join(f"{cell:>6}" for cell in cells) + f"{total:8g}"
        reasons = [r if r.startswith(name) else f"{name}: {r}" for name, r in result.reasons.items()]
        if submission.untouched:
            reasons = [f"{len(reasons)} checks say the like of: {next(iter(reasons), '')}"]
        for reason in reasons or [submission.story]:
            yield fill(reason, 104, initial_indent=" " * 8, subsequent_indent=" " * 10)
    yield "'hand': waits for a mark by hand in formgrader."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
