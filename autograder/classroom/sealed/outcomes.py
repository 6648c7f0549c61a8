"""How a grade cell ended: the five outcomes, told apart everywhere, and what each becomes in a notebook."""
from __future__ import annotations

from dataclasses import dataclass

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.classroom.sealed.grade_cells import Choice
from autograder.notebook import OPTIONS, judge_choice, no_option
from autograder.ranks.report import RankOutcome
from autograder.verdict import Verdict

RIGHT, WRONG, ERROR, LIMIT, INFRASTRUCTURE = OUTCOMES = ("right", "wrong", "error", "limit", "infrastructure")
MIME = "application/vnd.autograder.mark+json"  # an output's data for reports: outcome, credit, verdict
_USED_UP = ("MemoryError", "can't allocate memory", "not enough memory", "Cannot allocate memory", "std::bad_alloc",
              "No space left on device", "File too large")


@dataclass(frozen=True)
class Mark:
    """How a grade cell ended: one of OUTCOMES, and the verdict that says why."""

    outcome: str
    verdict: Verdict

    @property
    def judged(self) -> bool:
        return self.outcome != INFRASTRUCTURE

    def outputs(self, points: float) -> list[NotebookNode]:
        """The outputs of the grade cell: the verdict, and last the points as one plain number."""
        shown = new_output("display_data", {
            "text/plain": str(self.verdict), "text/html": self.verdict._repr_html_(),
            MIME: {"outcome": self.outcome, "credit": self.verdict.credit, "verdict": self.verdict.to_dict()}})
        if not self.judged:
            # SaveSealedGrades leaves it without a mark; should anything else read it, it must not mean full marks.
            return [shown, new_output("error", ename="NeedsManualGrade", evalue=self.verdict.message,
                                      traceback=[self.verdict.message])]
        points = min(max(float(points) * self.verdict.credit, 0.0), float(points))
        return [shown, new_output("execute_result", {"text/plain": repr(points)}, execution_count=None)]


def mark(outcome: str, exercise: str, diagnosis: str | None, message: str) -> Mark:
    return Mark(outcome, Verdict(exercise, False, 0.0, diagnosis, message, backend="none"))


def mark_choice(choice: Choice, letter: object, kind: str) -> Mark:
    """The mark for a letter, or for a value of another kind that is none."""
    if letter is None and kind != "NoneType":  # what was no text did not cross
        return mark(ERROR, choice.id, "wrong-type", no_option(f"a {kind}", tuple(choice.reasons) or OPTIONS))
    verdict = judge_choice(choice.id, letter, choice.key, choice.reasons)
    outcome = RIGHT if verdict.passed else WRONG if verdict.diagnosis == "wrong-answer" else ERROR
    return Mark(outcome, verdict)


def outcome_of(verdict: Verdict, outcomes: list[list[RankOutcome]]) -> str:
    if verdict.passed:
        return RIGHT
    if verdict.diagnosis == "timed-out":
        return LIMIT
    if verdict.diagnosis in ("raised", "unneeded-error", "rank-crashed", "not-implemented"):
        errors = [f"{o.error['type']}: {o.error['message']}" for ranks in outcomes for o in ranks if o.error]
        return LIMIT if any(words in error for error in errors for words in _USED_UP) else ERROR
    return WRONG
