"""Sealed grading: a preprocessor in place of nbgrader's `Execute`, so that every button and command grades sealed.

The learner's cells run in a sandbox (`sandbox.py`, `inside/`). Grade cells never run: they are read, as data, from
the gradebook's own source; the judge, outside, draws their trials, sends the inputs in, takes plain frames out, rules,
and writes the cells' outputs. Whatever a submission prints or sends is the learner's word: shown, and never a mark.
"""
from __future__ import annotations

import logging

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import setenv
from traitlets import Bool, Float, Integer, Unicode

from autograder import grading
from autograder.classroom.config import course_seed
from autograder.classroom.refused import Refused
from autograder.classroom.sealed.attempt import Attempt
from autograder.classroom.sealed.grade_cells import questions
from autograder.classroom.sealed.sandbox import Limits, NoSandbox, require
from autograder.classroom.sealed.session import Infrastructure
from autograder.ranks.processes import start_server


class StopGrading(NoSandbox, KeyboardInterrupt):
    """Ends the whole run: nbgrader clears the submission it was at away, as after Ctrl-C, and goes on to no other."""


class SealedExecute(NbGraderPreprocessor):
    """Run a submission's cells in a sandbox and have its grade cells judged outside."""

    secret_file = Unicode("", help="Where the course's secret is kept; made at first use.").tag(config=True)
    unsealed = Bool(False, help="Grade without a sandbox: submissions run with your rights.").tag(config=True)
    cell_timeout = Float(60.0, help="Seconds that a cell of a learner may run.").tag(config=True)
    check_timeout = Float(150.0, help="Seconds for the ranks of one grade cell.").tag(config=True)
    submission_timeout = Float(900.0, help="Seconds for a whole submission.").tag(config=True)
    memory = Integer(Limits.memory, help="Bytes that one process may allocate.").tag(config=True)
    total_memory = Integer(Limits.total_memory, help="Bytes that a submission may hold.").tag(config=True)
    processes = Integer(Limits.processes, help="Processes and threads of a submission.").tag(config=True)
    files = Integer(Limits.files, help="Bytes in each of its two writable folders.").tag(config=True)
    output = Integer(Limits.output, help="Characters that a cell may print.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        names = resources["nbgrader"]
        points, sources = questions(names["db_url"], names["assignment"], names["notebook"])
        run = self._graded(nb.cells, sources)
        unjudged = []
        for index, cell in enumerate(nb.cells):
            if cell.cell_type != "code":
                continue
            cell.execution_count = None
            name = run.grade_cells.get(index)
            cell.outputs = run.marks[name].outputs(points[name]) if name else run.outputs.get(index, [])
            if name and not run.marks[name].judged:
                unjudged.append(name)
        for name, mark in run.marks.items():
            level = logging.INFO if mark.judged else logging.ERROR
            self.log.log(level, "%s: %s%s", name, mark.outcome,
                         f" ({mark.verdict.diagnosis})" if mark.verdict.diagnosis else "")
        names["unjudged"] = unjudged
        return nb, resources

    def _get_ready(self) -> None:
        if self.unsealed:
            self.log.warning("Grading WITHOUT a sandbox (SealedExecute.unsealed): submissions run with your rights.")
        try:
            if not self.unsealed:
                require()
            self._course_seed()
        except (NoSandbox, Refused) as error:
            self.log.error("%s", error)
            raise StopGrading(str(error)) from None
        start_server(grading.PRELOAD)

    def _graded(self, cells: list[NotebookNode], sources: dict[str, str]) -> Attempt:
        """Two attempts at most: the second when something of ours failed, or the sandbox died without a reason."""
        self._get_ready()
        for attempt in (1, 2):
            run = Attempt(self, cells, sources)
            try:
                run.go(last=attempt == 2)
                break
            except Infrastructure as error:
                self.log.warning("Attempt %d: %s", attempt, error)
                run.give_up(str(error))
        return run

    @property
    def limits(self) -> Limits:
        return Limits(self.memory, self.total_memory, self.processes, self.files, self.output)

    def hidden_seed(self, exercise: str) -> int:
        """The seed of an exercise's hidden trials: the same for the class and for every regrade. Raises Refused."""
        with setenv(**{grading.COURSE_SEED: self._course_seed()}):
            return grading.course_seed(exercise)

    def _course_seed(self) -> str:
        course = self.config.CourseDirectory.get("course_id", "")
        return course_seed(self.secret_file, course) if self.secret_file else ""


class SaveSealedGrades(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, for which a grade cell that could not be judged has no mark and waits for a person."""

    def _add_score(self, cell: NotebookNode, resources: dict) -> None:
        super()._add_score(cell, resources)
        name = cell.metadata["nbgrader"]["grade_id"]
        if name in resources["nbgrader"].get("unjudged", ()):
            grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
            grade.auto_score = None
            grade.needs_manual_grade = True
            self.gradebook.db.commit()
