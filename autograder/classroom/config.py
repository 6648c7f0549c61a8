"""What nbgrader must be told so that a class can be graded: `configure(c, root)`.

nbgrader stays nbgrader: its commands, formgrader and the JupyterLab extensions are used as they are, and this
module only sets documented options. Each option says which trouble it prevents.
"""

import os
import secrets
import sys
from hashlib import sha256
from hmac import new as hmac
from pathlib import Path

from .refused import Refused
from .sealed.config import configure as seal

SECRET_BYTES = 32
COURSE_ID = "global-gradient"
STATE = ".course"  # gradebook, exchange and secret, inside the root of the course
CELL_SECONDS = 60
CHECK_SECONDS = 120
SUBMISSION_SECONDS = 900
NOBODY_HAS_THIS_TAG = "global-gradient-never-skips"
HERE = "autograder.classroom.preprocessors"


def configure(c, root: str | Path, *, course_id: str = COURSE_ID, state: str | Path | None = None,
              sealed: bool = True) -> None:
    """Set every nbgrader option of this course on the traitlets config `c`.

    `root` is the folder that holds source/ and release/; `state` (default: root/.course) is where gradebook,
    exchange and secret are kept. Makes the folders that nbgrader wants to exist. With `sealed`, learners' cells run in
    a sandbox and checks are judged outside it (docs/security.md); without, they run in a kernel with your rights, as
    in plain nbgrader, on any system.
    """
    root = Path(root).resolve()
    state = Path(state).resolve() if state else root / STATE
    exchange = state / "exchange"
    exchange.mkdir(parents=True, exist_ok=True)

    # nbgrader calls alembic by its name, also where the environment is not activated.
    programs = str(Path(sys.executable).parent)
    if programs not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join(filter(None, [programs, os.environ.get("PATH", "")]))

    # Formgrader and the buttons in JupyterLab run in the server's folder, so every path is absolute. A second
    # process that grades waits for the gradebook instead of failing with "database is locked".
    c.CourseDirectory.course_id = course_id
    c.CourseDirectory.root = str(root)
    c.CourseDirectory.db_url = f"sqlite:///{state / 'gradebook.db'}?timeout=60"
    c.Exchange.root = str(exchange)
    c.Exchange.cache = str(state / "submitted")
    c.Exchange.assignment_dir = str(root / "work")
    (root / "work").mkdir(exist_ok=True)

    # A tag in a learner's cell must not keep a check from running, nor a deleted check wait for ever for a
    # mark by hand; a kernel that cannot be interrupted ends in zero points, not in an ungraded submission.
    c.Execute.skip_cells_with_tag = NOBODY_HAS_THIS_TAG
    c.OverwriteCells.add_missing_cells = True
    c.Execute.raise_on_iopub_timeout = False
    c.Execute.timeout = CELL_SECONDS
    c.Execute.timeout_func = cell_seconds
    c.Execute.iopub_timeout = 10
    c.Execute.startup_timeout = 120
    # Else every kernel of the grader warns that it talks over (local) TCP.
    c.Execute.extra_arguments = ["--IPKernelApp.log_level=ERROR"]

    # nbgrader's own lists, with ours put in where one submission could stop the class or shift a mark.
    c.Autograde.sanitize_preprocessors = [
        "nbgrader.preprocessors.ClearOutput",
        f"{HERE}.RepairCells",
        "nbgrader.preprocessors.DeduplicateIds",
        "nbgrader.preprocessors.OverwriteKernelspec",
        "nbgrader.preprocessors.OverwriteCells",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.Autograde.autograde_preprocessors = [
        f"{HERE}.ExecuteToTheEnd",
        f"{HERE}.CleanOutputs",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    # One grader an assignment; and links in a submission, or in the exchange, are not followed.
    c.Autograde.exporter_class = "autograder.classroom.guard.GuardedExporter"
    c.ExchangeFactory.collect = "autograder.classroom.guard.Collect"
    # Else feedback of the class ends at the first submission that did not come through the exchange.
    c.ExchangeFactory.release_feedback = "autograder.classroom.guard.ReleaseFeedback"
    c.ExecuteToTheEnd.secret_file = str(state / "secret")
    c.ExecuteToTheEnd.submission_timeout = SUBMISSION_SECONDS

    # Feedback holds the reason and no hidden test.
    c.GenerateFeedback.preprocessors = [
        "nbgrader.preprocessors.GetGrades",
        f"{HERE}.HideTests",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]
    if sealed:
        seal(c, secret_file=str(state / "secret"))


def cell_seconds(cell) -> int:
    """Seconds that a cell may run: a check runs many trials, each with a deadline of its own."""
    return CHECK_SECONDS if cell.metadata.get("nbgrader", {}).get("grade") else CELL_SECONDS


def course_secret(file: str | Path) -> bytes:
    """The course's secret (32 bytes), made at first use in `file`, which only its owner can read.

    Refused where this account may not read it, or make it, and where something else is in it.
    """
    file = Path(file)
    try:
        if not file.is_file():
            _make_secret(file)
        secret = bytes.fromhex(file.read_text())
    except PermissionError as error:
        raise Refused(f"The course's secret {file} cannot be read or made: {error.strerror}. Change its "
                       "permissions, or its folder's, or grade with the account that made it.") from None
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise Refused(f"The course's secret {file} is damaged. Put your copy of it in its place; without it a new one "
                       "is made, and a regrade draws other trials.")
    return secret


def _make_secret(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    fresh.touch(mode=0o600)
    try:
        fresh.write_text(secrets.token_hex(SECRET_BYTES))
        try:
            file.hardlink_to(fresh)  # fails when another process was first: then both use that one
        except FileExistsError:
            pass
    finally:
        fresh.unlink()


def course_seed(file: str | Path, course_id: str) -> str:
    """What graded trials are drawn from: the hex HMAC-SHA256 of `course_id` under the course's secret."""
    return hmac(course_secret(file), course_id.encode(), sha256).hexdigest()
