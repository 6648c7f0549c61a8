"""`python -m autograder bundle`: what learners of a class get, in one zip file, and nothing that gives answers away.

In it: released assignments, lessons and the pages that they link to, the package, what installs it, a README of its
own, and settings in which JupyterLab shows neither formgrader nor the panels for authors. Not in it: source/, tests
(their banks hold right answers), the course's state.
"""
from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat

from autograder.classroom.config import course_secret
from autograder.classroom.course import Course, Refused, disk_trouble
from autograder.classroom.lab import released
from autograder.classroom.preprocessors import without_hidden
from autograder.classroom.simulate import BEGIN, END

FILES = ("LICENSE", "Makefile", "pyproject.toml", "constraints.txt", "environment.yml",
         "docs/field_guide.md", "docs/practitioners.md", "docs/survey.md")
FOLDERS = ("notebooks", "autograder")
NOT_THESE = ("__pycache__", ".ipynb_checkpoints")
SETTINGS = """from pathlib import Path

from autograder.classroom import configure

c = get_config()
configure(c, root=Path(__file__).parent, course_id={course_id!r})
{exchange}"""
README = """# {course_id}: lessons and exercises

You need Python 3.10 or newer with its `venv` module, `make`, and about 3 GB of disk, on Linux, macOS or WSL. No GPU is
needed. Unpack everything, open a terminal in the folder in which this file lies, and

```
make env
make lab
```

The first command installs what the course uses into this folder (minutes, once); the second opens JupyterLab. Without a
GPU, `make env TORCH_INDEX=https://download.pytorch.org/whl/cpu` downloads 3 GB less. `make lab LAB_ARGS='--port 8899'`
takes another port, `--no-browser` opens none.

## Where things are

* `notebooks/`: the lessons. Begin with `notebooks/0_start_here.ipynb`.
* `work/`: your copies of the assignments, which `make lab` makes and never overwrites:
{assignments}
* `release/`: the assignments as they were handed out, to look up how a cell was. Do not work there.
* `docs/`: further reading: mistakes of public trainers, and how to check your own.

## How to work

Replace `raise NotImplementedError()` by your code, run the cell, then run the check below it. It runs your function on
several sets of data, says what is wrong, and can be run as often as you like; grading takes more sets. Leave the check
cells as they are: changed ones are put back. Before you hand in: *Kernel → Restart Kernel and Run All Cells…*, because
grading, too, starts from the top. Grading has no network and no other file of yours, and packages that you installed
yourself may be missing: what your answers need must be in the notebook.

## How to hand in

{hand_in}

## When something fails

* *This kernel lacks the course package*: close JupyterLab and start it with `make lab`, in this folder.
* `make env` stopped half-way: run it again. To begin anew, delete the folder `.venv` and run `make env`.
* A check does not come back: *Kernel → Interrupt Kernel*; if that does not help, *Kernel → Restart Kernel*.
* An assignment is damaged: move your file out of `work/`; the next `make lab` copies a fresh one there.
* None of this helps: send your instructor the notebook, and what the terminal or the cell says.
"""
_UPLOAD = """Save the notebook and upload that one file where your instructor collects it, for {name} for instance
`work/{name}/{name}.ipynb`. What the file is called does not matter."""
_EXCHANGE = """Save the notebook. In JupyterLab's menu, *Nbgrader → Assignment List* has a button *Submit* for each
assignment in `work/`. Or, in a terminal in this folder:

```
{commands}
```

You can hand in as often as you like until it is due: the last time counts. Feedback comes back in the same list
(*Fetch Feedback*)."""
_PANELS = ("formgrader", "course_list")
_LAB = ("@jupyter/nbgrader:formgrader", "@jupyter/nbgrader:create-assignment", "@jupyter/nbgrader:course-list")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignments", nargs="*", help="which released assignments (default: all)")
    parser.add_argument("--to", type=Path, metavar="FILE", help="default: COURSE-ID.zip in this folder")
    parser.add_argument("--exchange", metavar="FOLDER", help="the class's exchange, where learners can reach it")


def run(arguments: argparse.Namespace) -> int:
    try:
        course = Course(Path.cwd())
        target = arguments.to or Path(f"{course.id}.zip")
        names = bundle(course, target, arguments.assignments, arguments.exchange)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print(f"{target}: {len(names)} files. Learners unpack it, run `make env`, then `make lab`.")
    return 0


def bundle(course: Course, target: Path, assignments: Iterable[str] = (), exchange: str | None = None) -> list[str]:
    """Write the zip file; its names. Refused when there is nothing to hand out, or when an answer would be in it."""
    offered = {folder.name: folder for folder in released(course.root)}
    chosen = list(assignments) or list(offered)
    unknown = [name for name in chosen if name not in offered]
    if unknown or not chosen:
        raise Refused(f"There is no release/{(unknown or ['ASSIGNMENT'])[0]} in {course.root}: make it first (nbgrader "
                      "generate_assignment).")
    files = dict(_content(course.root, [offered[name] for name in chosen]))
    files |= {name: text.encode() for name, text in _settings(course, exchange).items()}
    files["README.md"] = _readme(course.id, chosen, exchange).encode()
    found = list(leaks(files, answers(course)))
    if found:
        raise Refused("The bundle would give answers away, and is not made:\n" + "\n".join(found[:20]))
    top = target.stem
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(f"{top}/{name}", content)
        unfinished.replace(target)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise Refused(disk_trouble(error, target)) from None
    return list(files)


def _content(root: Path, releases: list[Path]) -> Iterator[tuple[str, bytes]]:
    places = [root / name for name in (*FILES, *FOLDERS)] + releases
    for place in places:
        for file in sorted(place.rglob("*")) if place.is_dir() else [place] * place.is_file():
            inside = file.relative_to(root)
            hidden = any(part in NOT_THESE or part.startswith(".") for part in inside.parts)
            if file.is_file() and not file.is_symlink() and not hidden:
                yield inside.as_posix(), file.read_bytes()


def _readme(course_id: str, chosen: list[str], exchange: str | None) -> str:
    """What learners read first: the course's own README.md is for those who have all of it."""
    assignments = "\n".join(f"  * `work/{name}/{name}.ipynb`" for name in chosen)
    commands = "\n".join(f".venv/bin/nbgrader submit {name}" for name in chosen)
    hand_in = _EXCHANGE.format(commands=commands) if exchange else _UPLOAD.format(name=chosen[0])
    return README.format(course_id=course_id, assignments=assignments, hand_in=hand_in)


def _settings(course: Course, exchange: str | None) -> dict[str, str]:
    """nbgrader's settings for learners, and JupyterLab's: the lab reads them from the root of the bundle."""
    line = f"c.Exchange.root = {exchange!r}\n" if exchange else ""
    servers = {f"nbgrader.server_extensions.{name}": False for name in _PANELS}
    return {
        "nbgrader_config.py": SETTINGS.format(course_id=course.id, exchange=line),
        "jupyter_server_config.d/learner.json": json.dumps({"ServerApp": {"jpserver_extensions": servers}}, indent=1),
        "labconfig/page_config.json": json.dumps({"disabledExtensions": dict.fromkeys(_LAB, True)}, indent=1),
    }


# ---- what must not get out ---------------------------------------------------------------------------------


def answers(course: Course) -> dict[str, str]:
    """Where → what learners must not read: solutions, hidden tests, the secret."""
    found = {}
    for file in sorted(course.root.glob("source/*/*.ipynb")):
        for cell in nbformat.read(file, as_version=4).cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            for number, text in enumerate(_solution_texts(cell)):
                found[f"the solution {name} ({number + 1})"] = text
            for line in without_hidden(cell.source)[1]:
                if "HIDDEN TESTS" not in line and len(line) > 20:
                    found[f"a hidden line of {name}: {line[:40]}"] = line
    secret = course.config.SealedExecute.get("secret_file")
    if secret and Path(secret).is_file():
        found["the course's secret"] = course_secret(secret).hex()
    return found


def _solution_texts(cell: nbformat.NotebookNode) -> Iterator[str]:
    """The blocks between solution marks, and written model answers; too short ones would be found everywhere."""
    metadata = cell.metadata.get("nbgrader", {})
    if not metadata.get("solution"):
        return
    if BEGIN not in cell.source:
        texts = [cell.source] if metadata.get("grade") and cell.cell_type == "markdown" else []
    else:
        texts = [part.partition(END)[0] for part in cell.source.split(BEGIN)[1:]]
    yield from (text.strip() for text in texts if len(text.strip()) > 60)


def leaks(files: dict[str, bytes], secrets: dict[str, str]) -> Iterator[str]:
    """Sentences: which file holds which answer."""
    sought = {where: _squeezed(text) for where, text in secrets.items()}
    for name, content in files.items():
        text = content.decode("utf-8", "replace")
        if name.endswith(".ipynb"):
            text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
            if BEGIN in text or "BEGIN HIDDEN TESTS" in text:
                yield f"{name} is not a released version: it has solution or hidden-test marks."
        squeezed = _squeezed(text)
        yield from (f"{name} holds {where}." for where, wanted in sought.items() if wanted in squeezed)


def _squeezed(text: str) -> str:
    return "".join(text.split())
