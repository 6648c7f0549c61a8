"""Marks with their reasons, read from the gradebook and from the graded notebooks: what export and report show."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbgrader.api import (
    Assignment,
    BaseCell,
    Grade,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)

from autograder.classroom.course import Course, Refused
from autograder.classroom.grade.results import Results
from autograder.classroom.sealed.outcomes import MIME

# what stands in the place of an outcome: where a submission could not be graded, where one of its notebooks is missing
NOT_GRADED, NOT_HANDED_IN = "not graded", "not handed in"


@dataclass(frozen=True)
class ExerciseMark:
    """One grade cell of one learner. points: None while a person must mark it; outcome "" where nothing was checked.

    again: a person marked it before it was graded once more, and must look at the mark, which counts.
    """

    points: float | None
    most: float
    outcome: str = ""
    diagnosis: str = ""
    message: str = ""
    again: bool = False

    @property
    def waits(self) -> bool:
        return self.points is None or self.again


@dataclass(frozen=True)
class LearnerMarks:
    """One learner's marks for one assignment. exercises by grade_id, in order; penalty is taken off the total.

    not_graded: why there is no mark at all, which is neither a zero nor a mark that a person has yet to give.
    """

    student: str
    first_name: str
    last_name: str
    email: str
    lms_id: str
    submitted: str
    exercises: dict[str, ExerciseMark]
    penalty: float
    not_graded: str = ""

    @property
    def points(self) -> float:
        """What there is so far, before penalties."""
        return sum(mark.points or 0.0 for mark in self.exercises.values())

    @property
    def total(self) -> float:
        return max(self.points - self.penalty, 0.0)

    @property
    def waits(self) -> bool:
        return not self.not_graded and any(mark.waits for mark in self.exercises.values())


def counted(number: float, noun: str) -> str:
    return f"{number:g} {noun}" if number == 1 else f"{number:g} {noun}s"


def class_marks(course: Course, assignment: str) -> tuple[dict[str, float], list[LearnerMarks]]:
    """The exercises of an assignment with their points, and the marks of all who handed it in."""
    notebooks = course.notebooks(assignment)
    with course.gradebook() as gradebook:
        most, cells = {}, {}
        for name in notebooks:
            known = gradebook.find_notebook(name, assignment)
            cells[name] = [cell.name for cell in known.source_cells]
            points = {cell.name: float(cell.max_score) for cell in [*known.grade_cells, *known.task_cells]}
            most |= {cell.name: points[cell.name] for cell in known.source_cells if cell.name in points}
        learners = []
        for student in sorted(gradebook.students, key=lambda each: each.id):
            try:
                handed_in = gradebook.find_submission(assignment, student.id)
            except MissingEntry:
                continue
            said = _said(course, assignment, student.id, notebooks)
            marks = {grade.name: grade for notebook in handed_in.notebooks for grade in notebook.grades}
            exercises = {name: _mark(marks.get(name), points, said.get(name, {})) for name, points in most.items()}
            exercises |= {name: replace(exercises[name], outcome=NOT_HANDED_IN)
                          for name in _not_handed_in(course, assignment, student.id, cells) if name in exercises}
            why = _why_not_graded(course, assignment, student.id, notebooks, marks.values())
            if why:
                exercises = {name: ExerciseMark(None, points, NOT_GRADED, "", why) for name, points in most.items()}
            learners.append(LearnerMarks(
                student.id, student.first_name or "", student.last_name or "", student.email or "",
                student.lms_user_id or "", str(handed_in.timestamp or ""), exercises,
                float(handed_in.late_submission_penalty or 0.0), why))
    if not learners:
        raise Refused(f"Nobody has marks for {assignment} yet: python -m autograder grade {assignment}")
    return most, learners


def automatic_marks(course: Course, assignment: str, *students: str) -> dict[str, dict[str, float | None]]:
    """The automatic marks that the gradebook holds: by student (default: all), then by "notebook/grade cell"."""
    wanted = (SubmittedAssignment.student_id, Notebook.name, BaseCell.name, Grade.auto_score)
    with course.gradebook() as gradebook:
        rows = gradebook.db.query(*wanted).select_from(Grade).join(BaseCell, Grade.cell_id == BaseCell.id).join(
            SubmittedNotebook, Grade.notebook_id == SubmittedNotebook.id).join(
            Notebook, SubmittedNotebook.notebook_id == Notebook.id).join(
            SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id).join(
            Assignment, SubmittedAssignment.assignment_id == Assignment.id).filter(Assignment.name == assignment)
        if students:
            rows = rows.filter(SubmittedAssignment.student_id.in_(students))
        found: dict[str, dict[str, float | None]] = {}
        for student, notebook, cell, mark in rows:
            found.setdefault(student, {})[f"{notebook}/{cell}"] = mark
        return found


def _why_not_graded(course: Course, assignment: str, student: str, notebooks: list[str], grades: Iterable) -> str:
    """Why a submission did not come through grading; "" where it did: it has a graded notebook, or just marks.

    A submission that takes the place of a graded one, and cannot be graded, has no mark either: the gradebook's is not
    its own.
    """
    marked = any(grade.auto_score is not None or grade.manual_score is not None for grade in grades)
    folder = course.folder("autograded", student, assignment)
    graded = [file for name in notebooks if (file := folder / f"{name}.ipynb").is_file()]
    why = Results(course.state / "graded" / assignment).not_graded(student, unless=graded)
    if why:
        return f"{why} The marks of what was handed in before stay in the gradebook." if marked else why
    return "" if marked or graded else f"this says why: python -m autograder grade {assignment}"


def _not_handed_in(course: Course, assignment: str, student: str, cells: dict[str, list[str]]) -> list[str]:
    """The cells of an assignment's notebooks that a learner left out, who handed in another one."""
    folder = course.folder("autograded", student, assignment)
    missing = [name for name in cells if not (folder / f"{name}.ipynb").is_file()]
    return [cell for name in missing for cell in cells[name]] if len(missing) < len(cells) else []


def _mark(grade, most: float, said: dict) -> ExerciseMark:
    by_hand = grade is not None and grade.manual_score is not None
    waits = grade is None or grade.needs_manual_grade or grade.auto_score is None
    verdict = said.get("verdict", {})
    return ExerciseMark(float(grade.score) if by_hand or not waits else None, most, said.get("outcome", ""),
                        verdict.get("diagnosis") or "", verdict.get("message") or "",
                        again=by_hand and grade.needs_manual_grade)


def _said(course: Course, assignment: str, student: str, notebooks: list[str]) -> dict[str, dict]:
    """What each grade cell of the graded notebooks says about its mark."""
    found = {}
    for name in notebooks:
        file = course.folder("autograded", student, assignment) / f"{name}.ipynb"
        if file.is_file():
            found |= dict(_marks_in(file))
    return found


def _marks_in(file: Path) -> Iterator[tuple[str, dict]]:
    for cell in nbformat.read(file, as_version=4).cells:
        role = cell.metadata.get("nbgrader", {})
        if role.get("grade") and not role.get("solution"):
            for output in cell.get("outputs", ()):
                if MIME in output.get("data", {}):
                    yield role["grade_id"], output.data[MIME]
