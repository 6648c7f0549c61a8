"""The rooms of the house: a file imports only from rooms below its own; what runs beside learners knows no answer."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "autograder"
# from the ground up; rooms of one line do not know one another
ROOMS = [
    ["window"], ["probe_model"], ["reference"], ["weights"], ["dials"], ["diagnosis"], ["verdict"],
    ["ranks"], ["stages"], ["exercises"], ["judge"], ["grading"], ["notebook"],
    ["probe"], ["survey"], ["labs"], ["classroom"], ["__main__"]]
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
# what runs beside a learner's function holds no expectation; the ranks know nothing of items at all
IGNORANT = {"ranks": set(), "stages": {"ranks"}}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def names_imported(path: Path) -> set[str]:
    """What a file names in an import, at the top or inside functions, as full names."""
    found = set()
    package = ("autograder", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join((*package[:len(package) - node.level + 1], *([node.module] if node.module else []))) \
                if node.level else node.module
            found.update([base, *(f"{base}.{name.name}" for name in node.names)])
    return found


def rooms_imported(path: Path) -> set[str]:
    """The rooms of this package that a file names in an import."""
    parts = [name.split(".") for name in names_imported(path)]
    return {part[1] for part in parts if part[0] == "autograder" and len(part) > 1 and part[1] in FLOOR}


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__")
MODULES = {".".join(("autograder", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
           for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    room = room_of(path)
    assert room in FLOOR, f"{room} is not in the plan of the house"
    others = rooms_imported(path) - {room}
    assert all(FLOOR[other] < FLOOR[room] for other in others), f"{room} imports {sorted(others)}"
    if room in IGNORANT:
        assert others <= IGNORANT[room], f"{room} must know only {IGNORANT[room]}"


def test_no_file_imports_one_that_imports_it():
    """Not by way of others either, and not for annotations only: each can be read before those that build on it."""
    needs = {}
    for name, path in MODULES.items():
        named = names_imported(path) & MODULES.keys() - {name}  # `from package import file` needs the file
        needs[name] = {one for one in named if not any(other.startswith(f"{one}.") for other in named)}
    while needs:
        free = {name for name, others in needs.items() if not others}
        assert free, f"these import each other, or what does: {sorted(needs)}"
        needs = {name: others - free for name, others in needs.items() if name not in free}


def test_marks_are_kept_only_as_long_as_all_that_they_are_made_with_stays_the_same():
    """The version of the engine, by which the results of a grading are kept, is of every file that decides in it."""
    from autograder.classroom.grade import submission

    waiting, needed = ["autograder.classroom.grade.submission", "autograder.classroom.sealed.inside.template"], set()
    while waiting:
        name = waiting.pop()
        if name in MODULES and name not in needed:
            needed.add(name)
            waiting += names_imported(MODULES[name])
    needed -= {"autograder.classroom.config", "autograder.classroom.refused"}  # for the seeds, which each result holds
    assert {MODULES[name] for name in needed} <= set(submission.engine_files())


def test_the_base_package_needs_torch_numpy_and_cloudpickle_only():
    """Importing every room that a practitioner uses pulls in no Jupyter, no nbgrader, no matplotlib."""
    code = ("import sys, autograder, autograder.grading, autograder.notebook, autograder.judge, autograder.probe\n"
            "heavy = {'IPython', 'nbgrader', 'matplotlib', 'ipywidgets', 'notebook', 'jupyterlab', 'pytest'}\n"
            "print(sorted(heavy & set(sys.modules)))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.parametrize("path", [p for p in FILES if p.stat().st_size], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path.name} has no docstring"
