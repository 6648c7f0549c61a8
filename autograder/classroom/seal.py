"""What nbgrader must be told so that it grades sealed: `configure(c, secret_file=…)`. Imports nothing heavy."""
from __future__ import annotations

HERE = "autograder.classroom.sealed"


def configure(c, *, secret_file: str) -> None:
    """Have `nbgrader autograde` and formgrader grade sealed, and show pages without learners' markup.

    Call it after the course's other settings. secret_file: where the course's secret is kept; made at first use.
    """
    c.Autograde.autograde_preprocessors = [
        f"{HERE}.SealedExecute",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{HERE}.SaveSealedGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.OverwriteCells.add_missing_cells = True
    c.SealedExecute.secret_file = str(secret_file)
    c.HTMLExporter.preprocessors = [f"{HERE}.SanitizeLearners"]
    c.HTMLExporter.filters = {"markdown2html": f"{HERE}.clean_markdown"}
    feedback = list(c.GenerateFeedback.get("preprocessors") or (
        "nbgrader.preprocessors.GetGrades", "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor"))
    if f"{HERE}.SanitizeLearners" not in feedback:
        c.GenerateFeedback.preprocessors = [*feedback, f"{HERE}.SanitizeLearners"]
