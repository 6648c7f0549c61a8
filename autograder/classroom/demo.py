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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from time import monotonic

import nbformat
from nbgrader.api import Gradebook

ASSIGNMENT = "item_mean"
EXERCISE = "synchronized_item_mean"  # the one whose answer differs between the learners
DEPENDS_ON_IT = ("sgd_step",)  # the solution of this one calls it
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

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


@dataclass(frozen=True)
class Submission:
    """What one learner hands in, and what must come out.

    answer: a file of the bank for EXERCISE, or "" for the solution. diagnosis: the key that the reason must
    carry, None for full points. tampers: also copies one check and deletes another.
    """

    student: str
    story: str
    answer: str = ""
    diagnosis: str | None = None
    untouched: bool = False
    tampers: bool = False


@dataclass
class Result:
    """What the gradebook and the graded notebook say about one submission."""

    points: dict[str, float | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


SUBMISSIONS = (
    Submission("ada", "right"),
    Submission("ben", "untouched", untouched=True),
    Submission("cleo", "mean of rank means", "wrong_mean_of_rank_means", "mean-of-rank-means"),
    Submission("dina", "NaN from an empty rank", "wrong_nan_from_empty_rank", "nan-or-inf"),
    Submission("emil", "an empty rank leaves, the others wait", "wrong_empty_rank_leaves", "deadlock"),
    Submission("fay", "one rank crashes", "wrong_segfault", "rank-crashed"),
    Submission("gus", "right, by other collectives", "right_reduce_scatter"),
    Submission("hana", "right, but noisy on stderr", "right_noisy"),
    Submission("ivo", "right, one check copied, one deleted", tampers=True),
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

    def run(self) -> int:
        self.prepare()
        self.step("generate_assignment", self.course, "generate_assignment", ASSIGNMENT)
        self.step("release_assignment", self.course, "release_assignment", ASSIGNMENT)
        ada = SUBMISSIONS[0].student
        title = f"fetch_assignment ({ada}; the others get copies)"
        self.step(title, self.learner(ada), "fetch_assignment", ASSIGNMENT)
        released = nbformat.read(self.learner(ada) / ASSIGNMENT / f"{ASSIGNMENT}.ipynb", as_version=4)
        for submission in SUBMISSIONS:
            self.work_of(submission, released)
        self.submit()
        self.step("collect", self.course, "collect", ASSIGNMENT)
        self.autograde()
        self.step("generate_feedback", self.course, "generate_feedback", ASSIGNMENT)
        self.step("release_feedback", self.course, "release_feedback", ASSIGNMENT)
        self.step(f"fetch_feedback ({ada})", self.learner(ada), "fetch_feedback", ASSIGNMENT)
        grades = self.scratch / "grades.csv"
        self.step("export", self.course, "export", "--to", str(grades))

        results = {s.student: self.result(s.student) for s in SUBMISSIONS}
        maxima = self.maxima()
        print("\n" + "\n".join(table(results, maxima)))
        wrong = [*self.surprises(results, maxima), *self.loose_ends(grades)]
        for line in wrong:
            print(f"NOT AS IT SHOULD BE: {line}")
        if not wrong:
            seconds = monotonic() - self.started
            print(f"All {len(SUBMISSIONS)} came out as they should. {seconds:.0f} s in all.")
        return 1 if wrong else 0

    def prepare(self) -> None:
        self.exchange.mkdir()
        shutil.copytree(self.root / "source" / ASSIGNMENT, self.course / "source" / ASSIGNMENT)
        config = INSTRUCTOR_CONFIG.format(root=str(self.course), exchange=str(self.exchange))
        (self.course / "nbgrader_config.py").write_text(config)
        for submission in SUBMISSIONS:
            folder = self.learner(submission.student)
            folder.mkdir(parents=True)
            config = LEARNER_CONFIG.format(
                root=str(folder), exchange=str(self.exchange), student=submission.student
            )
            (folder / "nbgrader_config.py").write_text(config)

    def learner(self, student: str) -> Path:
        return self.scratch / "learners" / student

    def work_of(self, submission: Submission, released: nbformat.NotebookNode) -> None:
        """Write the notebook that this learner hands in: the released one with its answer cells filled."""
        notebook = deepcopy(released)
        if not submission.untouched:
            source = self.root / "source" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
            answers = solutions(nbformat.read(source, as_version=4))
            if submission.answer:
                file = self.root / "tests" / "banks" / ASSIGNMENT / EXERCISE / f"{submission.answer}.py"
                answers[f"{EXERCISE}_answer"] = file.read_text()
            for cell in notebook.cells:
                cell.source = answers.get(grade_id(cell), cell.source)
        if submission.tampers:
            checks = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade")]
            copy = deepcopy(checks[0])
            copy.id = "copied"
            notebook.cells.append(copy)
            notebook.cells.remove(checks[1])
        file = self.learner(submission.student) / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        file.parent.mkdir(exist_ok=True)
        nbformat.write(notebook, file)

    def step(self, title: str, cwd: Path, *command: str) -> None:
        nbgrader(cwd, *command)
        self.say(title)

    def submit(self) -> None:
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = {
                pool.submit(nbgrader, self.learner(s.student), "submit", ASSIGNMENT): s for s in SUBMISSIONS
            }
            for job in as_completed(jobs):
                job.result()
                self.say(f"submit {jobs[job].student} ({jobs[job].story})")

    def autograde(self) -> None:
        """One process per core, each with its share of the class; they share the gradebook."""
        shares = [SUBMISSIONS[i :: self.workers] for i in range(self.workers)]
        with ThreadPoolExecutor(self.workers) as pool:
            list(pool.map(self.autograde_share, shares))

    def autograde_share(self, share: tuple[Submission, ...]) -> None:
        others = ",".join(s.student for s in SUBMISSIONS if s not in share)
        stories = {s.student: s.story for s in share}
        running: list[str] = []

        def follow(line: str) -> None:
            if "Creating/updating student with ID" in line:
                tell_done()
                running.append(line.split("'")[1])

        def tell_done() -> None:
            if running:
                self.say(f"autograde {running[-1]} ({stories[running[-1]]})")

        option = f"--CourseDirectory.student_id_exclude={others}"
        nbgrader(self.course, "autograde", ASSIGNMENT, option, follow=follow)
        tell_done()

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
            errors = [output for output in cell.get("outputs", ()) if output.output_type == "error"]
            if errors and grade_id(cell) in result.points:
                result.reasons[grade_id(cell)] = errors[0].evalue.split("\n")[0]
        return result

    def surprises(self, results: dict[str, Result], maxima: dict[str, float]) -> Iterable[str]:
        """Where points or reasons are not what the submissions deserve."""
        for submission in SUBMISSIONS:
            result = results[submission.student]
            for name, most in maxima.items():
                if name.endswith("_derivation"):  # marked by hand; an untouched one is worth nothing
                    expected = 0 if submission.untouched else None
                elif submission.untouched or (submission.diagnosis and name in (EXERCISE, *DEPENDS_ON_IT)):
                    expected = 0
                else:
                    expected = most
                got = result.points.get(name)
                if got != expected:
                    yield f"{submission.student} has {got} points for {name}, not {expected}"
            if submission.diagnosis and submission.diagnosis not in result.reasons.get(EXERCISE, ""):
                yield f"{submission.student}'s reason does not name {submission.diagnosis}"

    def loose_ends(self, grades: Path) -> Iterable[str]:
        """What is missing from the exported table or the feedback, or should not be in it."""
        with grades.open(newline="") as file:
            exported = {row["student_id"] for row in csv.DictReader(file)}
        pages = list(self.course.glob(f"feedback/*/{ASSIGNMENT}/*.html"))
        fetched = list(self.learner(SUBMISSIONS[0].student).glob(f"{ASSIGNMENT}/feedback/*/*.html"))
        if exported != {s.student for s in SUBMISSIONS}:
            yield f"the exported table holds {sorted(exported)}"
        if len(pages) != len(SUBMISSIONS) or not fetched:
            yield f"there are {len(pages)} pages of feedback, {len(fetched)} fetched"
        if any("HIDDEN TESTS" in page.read_text() for page in pages):
            yield "feedback shows a hidden test"


def nbgrader(cwd: Path, *command: str, follow: Callable[[str], None] = lambda line: None) -> None:
    """Run an nbgrader command in `cwd`; raises SystemExit with its last words when it fails.

    follow: is given every line that nbgrader prints, while it runs.
    """
    whole = [sys.executable, "-m", "nbgrader", *command]
    lines: list[str] = []
    with subprocess.Popen(
        whole, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        for line in run.stdout:
            lines.append(line)
            follow(line)
    if run.returncode:
        words = "".join(lines)[-3000:]
        raise SystemExit(f"nbgrader {' '.join(command)} failed in {cwd}:\n{words}")


def solutions(source: nbformat.NotebookNode) -> dict[str, str]:
    """The instructor's answers by grade_id, without the marks around them."""
    return {
        grade_id(cell): "\n".join(x for x in cell.source.split("\n") if x.strip() not in (BEGIN, END))
        for cell in source.cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    }


def grade_id(cell: nbformat.NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def table(results: dict[str, Result], maxima: dict[str, float]) -> Iterable[str]:
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
    for submission in SUBMISSIONS:
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
