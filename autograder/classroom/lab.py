"""`make lab`: prepare a folder to work in and open JupyterLab on the first lesson.

Learners never work in release/: what is released is copied to work/, where nothing that is already there
is ever overwritten. Gradebook and exchange lie in .course/, so that nbgrader's panels in JupyterLab work.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .release import assignments

if TYPE_CHECKING:
    from traitlets.config import Config

FIRST_LESSON = "notebooks/0_start_here.ipynb"
CONFIG = "nbgrader_config.py"


def main(arguments: list[str]) -> None:
    root = Path.cwd()
    for needed in (FIRST_LESSON, CONFIG):
        if not (root / needed).exists():
            sys.exit(f"There is no {needed} in {root}: run this in the root of the course.")
    missing = [name for name in ("jupyterlab", "nbgrader", "ipywidgets", "matplotlib") if not find_spec(name)]
    if missing:
        sys.exit(f"Missing: {', '.join(missing)}. Install the course with: pip install -e '.[course]'")
    port = chosen_port(arguments)
    if port and taken(port):
        sys.exit(f"Port {port} is taken. Choose another one: make lab LAB_ARGS='--port {port + 1}'")

    for line in prepare(root):
        print(line, flush=True)
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not a namesake elsewhere
    # nbgrader's panel looks for its settings in work/ and in Jupyter's folders: make the root one of these.
    known = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, [str(root), known]))
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    command += [f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}"]
    command += ["--ServerApp.port_retries=0"] if port else []
    command += ["--allow-root"] if os.geteuid() == 0 else []  # in a container that is all there is
    os.execv(sys.executable, command + arguments)


def prepare(root: Path) -> list[str]:
    """Make work/, the exchange and the gradebook in `root`; says in sentences what it did."""
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    said = [line for release in released(root) for line in copy_new(release, root / "work" / release.name)]
    if not said:
        said = ["work/ has every assignment already: nothing is copied."]
    # An exchange elsewhere is that of a class: what it offers, and when, is for `nbgrader release_assignment` to say.
    own = Path(config.Exchange.root).is_relative_to(root)
    published = [release.name for release in released(root) if own and publish(config, release)]
    if published:
        said.append(f"The exchange in {config.Exchange.root} now offers {', '.join(published)}.")
    if make_gradebook(config, assignments(root)):
        said.append(f"The gradebook is {gradebook_file(config)}.")
    return said


def released(root: Path) -> list[Path]:
    """The folders of the released assignments, in the order of their lessons; those without a lesson come last."""
    lessons = [lesson.stem.partition("_")[2] for lesson in sorted(root.glob("notebooks/*.ipynb"))]
    folders = sorted(path.parent for path in root.glob("release/*/*.ipynb") if path.stem == path.parent.name)
    return sorted(folders, key=lambda folder: lessons.index(folder.name) if folder.name in lessons else len(lessons))


def copy_new(source: Path, target: Path) -> list[str]:
    """Copy the files of `source` that `target` lacks; never touches one that is there."""
    said = []
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        inside = file.relative_to(source)
        if any(part.startswith(".") for part in inside.parts):
            continue
        copy = target / inside
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
            said.append(f"{target.parent.name}/{target.name}/{inside} is your copy to work in.")
    return said


def publish(config: Config, release: Path) -> bool:
    """Offer a released assignment in the exchange, unless the same version is there: whether it did."""
    outbound = Path(config.Exchange.root, config.CourseDirectory.course_id, "outbound", release.name)
    if outbound.is_dir() and all(
        (outbound / file.name).is_file() and (outbound / file.name).read_bytes() == file.read_bytes()
        for file in release.glob("*.ipynb")
    ):
        return False
    from nbgrader.apps import NbGraderAPI

    config.ExchangeReleaseAssignment.force = True
    result = NbGraderAPI(config=config).release_assignment(release.name)
    if not result["success"]:
        sys.exit(f"nbgrader cannot put {release.name} into the exchange:\n{result['log']}")
    return True


def make_gradebook(config: Config, names: list[str]) -> bool:
    """Make the gradebook with these assignments, unless there is one: whether it did."""
    if gradebook_file(config).exists():
        return False
    from nbgrader.api import Gradebook

    with Gradebook(config.CourseDirectory.db_url, config.CourseDirectory.course_id) as gradebook:
        for name in names:
            gradebook.update_or_create_assignment(name)
    return True


def gradebook_file(config: Config) -> Path:
    return Path(config.CourseDirectory.db_url.removeprefix("sqlite:///").partition("?")[0])


def chosen_port(arguments: list[str]) -> int | None:
    """The port that the arguments for JupyterLab ask for, if any."""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        for option in ("--port", "--ServerApp.port", "--LabApp.port"):
            value = following if argument == option else argument.removeprefix(f"{option}=")
            if value != argument and value.isdigit():
                return int(value)
    return None


def taken(port: int) -> bool:
    """Whether another program listens on `port` of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


if __name__ == "__main__":
    main(sys.argv[1:])
