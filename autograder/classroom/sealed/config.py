"""What nbgrader must be told so that it grades sealed: `configure(c, secret_file=…)`. Imports nothing heavy."""
from __future__ import annotations

SEALED, PAGES = "autograder.classroom.sealed.execute", "autograder.classroom.pages"


def configure(c, *, secret_file: str) -> None:
    """Have `nbgrader autograde` and formgrader grade sealed, and show pages without learners' markup.

    Call it after the course's other settings. secret_file: where the course's secret is kept; made at first use.
    """
    c.Autograde.autograde_preprocessors = [
        f"{SEALED}.SealedExecute",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        f"{SEALED}.SaveSealedGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.OverwriteCells.add_missing_cells = True
    c.SealedExecute.secret_file = str(secret_file)
    # Of formgrader's pages and of feedback, whose exporter is an HTMLExporter too.
    c.HTMLExporter.preprocessors = [f"{PAGES}.SanitizeLearners"]
    c.HTMLExporter.filters = {"markdown2html": f"{PAGES}.clean_markdown"}
    feedback = list(c.GenerateFeedback.get("preprocessors") or (
        "nbgrader.preprocessors.GetGrades", "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor"))
    if f"{PAGES}.PersonsComments" not in feedback:
        c.GenerateFeedback.preprocessors = [*feedback, f"{PAGES}.PersonsComments"]
    c.GenerateFeedback.setdefault("exporter_class", f"{PAGES}.FeedbackExporter")
