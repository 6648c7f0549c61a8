"""Late penalties after the grading: nbgrader's own step works them out again, and reads no cell for it."""
from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping

from nbformat.v4 import new_notebook
from nbgrader.api import Assignment, Notebook, SubmittedAssignment, SubmittedNotebook
from nbgrader.preprocessors import AssignLatePenalties

from autograder.classroom.grade.writer import Writer


class LatePenalties:
    """The step of autograding that gives late penalties, if the course has it."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        parent = writer.parent
        step = next((step(parent=parent) for step in reversed(writer.steps())
                     if isinstance(step, type) and issubclass(step, AssignLatePenalties)), None)
        self._step = step if step is not None and step.enabled else None

    def outdated(self, notebooks: Mapping[str, Container[str]]) -> list[str]:
        """Those of some students, given with the names of their notebooks, whose penalty nbgrader would now work out to
        be another than the gradebook holds: after an extension, with another due date or penalty method, after marks by
        hand."""
        if self._step is None:
            return []
        self._step.init_plugin()
        found: set[str] = set()
        with self._writer.course.gradebook() as gradebook:
            rows = gradebook.db.query(SubmittedAssignment, SubmittedNotebook, Notebook.name).join(
                SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id).join(
                Notebook, SubmittedNotebook.notebook_id == Notebook.id).join(
                Assignment, SubmittedAssignment.assignment_id == Assignment.id).filter(
                Assignment.name == self._writer.assignment)
            for handed_in, notebook, name in rows:
                student = handed_in.student_id
                if name in notebooks.get(student, ()) and _is_other(self._step, handed_in, notebook):
                    found.add(student)
        return sorted(found)

    def work_out(self, student: str, notebooks: Iterable[str]) -> None:
        """Write a student's penalty anew; marks stay, also those that a person saw. Raises what nbgrader raises."""
        for name in notebooks:
            self._step.preprocess(new_notebook(), self._writer.resources(student, name))


def _is_other(late: AssignLatePenalties, handed_in: SubmittedAssignment, notebook: SubmittedNotebook) -> bool:
    """Whether nbgrader's step would change a notebook's late penalty; also where it fails, which it then says."""
    try:
        penalty = None
        if handed_in.assignment.duedate is not None and handed_in.total_seconds_late > 0:
            penalty = late.plugin_inst.late_submission_penalty(
                handed_in.student_id, notebook.score, handed_in.total_seconds_late)
            penalty = penalty if penalty is None else late._check_late_penalty(notebook, penalty)
    except Exception:
        return True
    held = notebook.late_submission_penalty
    return (penalty is None) != (held is None) or (held is not None and not math.isclose(penalty, held))
