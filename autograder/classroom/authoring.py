"""`python -m autograder new-exercise ASSIGNMENT NAME`: the places of a new exercise, filled with one that works.

A section of the instructor's notebook, a record in the exercises' file, a bank with a right and a wrong answer; of a
new assignment also its notebook, its file and its place in the list. What is there is never overwritten. Every place
that the author has to change says TODO; `python -m autograder verify` lists them.
"""
from __future__ import annotations

import argparse
import ast
import json
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

import autograder
from autograder.classroom.refused import Refused
from autograder.exercises import ASSIGNMENTS, exercises_of

NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
EXERCISES = Path("autograder/exercises")

# ---- what is written: $name the exercise, $assignment, $points, $argument and so on --------------------------

TITLE = """\
# `$assignment`

TODO: what this assignment is about, and which lesson it follows.

| exercise | difficulty | importance | minutes | points |
|---|---|---|---|---|
"""
ROW = "| `$name`$mark | ●●○○○ moderate | ●●●○○ good to have | 10 | $points |"
SETUP = """\
try:
    import autograder
except ModuleNotFoundError:
    message = "This kernel lacks the course package: close JupyterLab and start it with `make lab`."
    raise ImportError(message) from None

import torch
import torch.distributed as dist

from autograder import check, check_choice, run_on_ranks, warm_up

warm_up()"""
TEXT = """\
## `$name`

**Difficulty** ●●○○○ moderate · **Importance** ●●●○○ good to have · **10 minutes · $points points**

TODO: one or two sentences: what the function is for.

**Contract.** `$name($argument)`$mark

* TODO: shapes, units, errors. `$argument`: floating tensor `$shape`, one row per item$of_rank.
* Returns the largest of $all_items in each column, `[3]`$everywhere.
* The argument stays as it was.

<details><summary>Hint 1: the rule</summary>

TODO: the rule in words.

</details>
<details><summary>Hint 2: where to look</summary>

TODO: the section of the lesson, the function of PyTorch.

</details>
<details><summary>Hint 3: how to test it yourself</summary>

TODO: numbers for which the answer is known.

</details>"""
RIGHT_ON_RANKS = """\
    lowest = local_values.new_full((1, 3), -torch.inf)
    largest = torch.cat([local_values, lowest]).amax(0)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return largest"""
RIGHT_ALONE = "    return values.amax(0)"
ANSWER = '''\
def $name($argument: torch.Tensor) -> torch.Tensor:
    """TODO: what it returns, the shapes. Return the largest of $all_items, column by column, shape [3]."""
    ### BEGIN SOLUTION
$right
    ### END SOLUTION'''
CHECK = """\
check($name)
### BEGIN HIDDEN TESTS
check($name, trials="all")
### END HIDDEN TESTS"""
RECORD_ON_RANKS = '''\
def _$name(draw: Draw, hidden: bool) -> list[Trial]:
    # TODO: what each rank gets, what is right for it, and the counts for which mistakes show.
    def trial(name: str, counts: list[int]) -> Trial:
        values = [draw.normal(count, 3) for count in counts]
        return Trial(name, tuple((rows,) for rows in values), torch.cat(values).amax(0), counts=tuple(counts))

    if hidden:
        return [trial("one rank holds nearly everything", [1, 60]),
                trial("rank 0 empty", [0, *draw.uneven_counts(3)]),
                trial("eight ranks, three empty", draw.uneven_counts(8, empty=3))]
    return [trial("one rank", [4]), trial("equal counts", [3, 3]), trial("two uneven ranks", [2, 6]),
            trial("three uneven ranks", [5, 1, 2]), trial("an empty rank", [4, 0, 1])]
'''
RECORD_ALONE = '''\
def _$name(draw: Draw, hidden: bool) -> list[Trial]:
    # TODO: the arguments and what is right for them. `mistakes` are wrong values that have a name.
    def trial(name: str, count: int) -> Trial:
        values = draw.normal(count, 3, mean=1.0)
        mean = Reason("wrong-answer", f"This is the mean of the {count} items, not the largest.")
        return Trial(name, ((values,),), values.amax(0), mistakes=((mean, values.mean(0)),) if count > 1 else ())

    if hidden:
        return [trial("many items", 300), trial("some items", draw.integer(2, 9))]
    return [trial("one item", 1), trial("five items", 5)]
'''
MODULE = '''\
"""Assignment `$assignment`: TODO: what its exercises have in common, and the source of their formula."""
from __future__ import annotations

from autograder.exercises.record import Draw, Exercise, Trial

ASSIGNMENT = "$assignment"


EXERCISES = ()
'''
RIGHT_FILE = '''\
"""TODO: what way is taken. $way"""
$imports

def $name($argument):
$right
'''
WRONG_ON_RANKS = '''\
"""diagnosis: missing-synchronization | not-synchronized

TODO: what mistake it is, and why people make it. Every rank returns the largest of its own items."""

import torch


def $name(local_values):
    return torch.cat([local_values, local_values.new_full((1, 3), -torch.inf)]).amax(0)
'''
WRONG_ALONE = '''\
"""diagnosis: wrong-answer

TODO: what mistake it is, and why people make it. The mean is taken for the largest."""


def $name(values):
    return values.mean(0)
'''
# what the records need, and where it comes from
IMPORTS = {"Reason": "autograder.diagnosis",
           **dict.fromkeys(("Draw", "Exercise", "Trial"), "autograder.exercises.record")}
ON_RANKS = {"argument": "local_values", "shape": "[n_r, 3]", "of_rank": " of this rank; $n_r$ may be 0, $N > 0$",
            "all_items": "the items of all ranks", "everywhere": ", on **every** rank", "mark": " **[ranks]**",
            "way": "A MAX over the ranks, in which an empty one has -inf.",
            "imports": "\nimport torch\nimport torch.distributed as dist\n", "right": RIGHT_ON_RANKS,
            "record": RECORD_ON_RANKS, "wrong": WRONG_ON_RANKS, "wrong_name": "own_items_only",
            "needs": "torch Draw Exercise Trial", "options": ""}
ALONE = {"argument": "values", "shape": "[n, 3]", "of_rank": "; $n \\ge 1$", "all_items": "all items", "everywhere": "",
         "mark": "", "way": "PyTorch has a function for it.", "imports": "", "right": RIGHT_ALONE,
         "record": RECORD_ALONE, "wrong": WRONG_ALONE, "wrong_name": "mean", "needs": "Draw Exercise Reason Trial",
         "options": ", ranks=False"}


# ---- the files ---------------------------------------------------------------------------------------------


def new_exercise(root: Path, assignment: str, name: str, *, ranks: bool, points: int) -> list[str]:
    """Add an exercise; sentences that say what was written where. Raises Refused, with nothing written."""
    _check_names(root, assignment, name, points)
    words = {**(ON_RANKS if ranks else ALONE), "name": name, "assignment": assignment, "points": str(points)}
    files = {
        root / "source" / assignment / f"{assignment}.ipynb": _notebook,
        root / EXERCISES / f"{assignment}.py": _module,
        root / EXERCISES / "__init__.py": _listed,
        root / "tests" / "banks" / assignment / name / "right_first.py": lambda file, words: _filled(RIGHT_FILE, words),
        root / "tests" / "banks" / assignment / name / f"wrong_{words['wrong_name']}.py":
            lambda file, words: _filled(words["wrong"], words)}
    texts = {file: make(file, words) for file, make in files.items()}  # all of them before the first is written
    said = []
    for file, text in texts.items():
        there = file.exists()
        if there and file.read_text(encoding="utf8") == text:
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf8")
        said.append(f"{file.relative_to(root)}: {'extended' if there else 'written'}")
    return said


def _check_names(root: Path, assignment: str, name: str, points: int) -> None:
    if not (root / EXERCISES / "__init__.py").is_file():
        raise Refused(f"There is no {EXERCISES}/ in {root}: run this in the root of a clone of the course.")
    used = Path(autograder.__file__).resolve().parents[1]
    if used != root.resolve():
        raise Refused(f"The package in use is that of {used}, not of {root}: install this one (pip install -e .).")
    for kind, word in (("an assignment", assignment), ("an exercise", name)):
        if not NAME.fullmatch(word) or keyword.iskeyword(word):
            raise Refused(f"{word!r} is no name for {kind}: give lower-case words with underscores, like item_mean.")
    if points < 1:
        raise Refused(f"{points} points: give a whole number of at least 1.")
    if re.search(r"_(q\d+|answer|setup)$", name) or name == assignment:
        raise Refused(f"{name!r} cannot be an exercise's name: names like that are taken by other cells.")
    for known in ASSIGNMENTS:
        if name in exercises_of(known):
            raise Refused(f"There is an exercise {name!r} already, in {known}: nothing is overwritten. Choose another "
                          "name.")
    places = [root / EXERCISES / f"{assignment}.py", root / "source" / assignment]
    for place in places if assignment not in ASSIGNMENTS else ():
        if place.exists():
            raise Refused(f"{place.relative_to(root)} exists, but {assignment!r} is not in ASSIGNMENTS of "
                          f"{EXERCISES}/__init__.py: nothing is overwritten. Choose another name, or add it there.")
    for place in places if assignment in ASSIGNMENTS else ():
        if not place.exists():
            raise Refused(f"{assignment!r} is in ASSIGNMENTS of {EXERCISES}/__init__.py, but there is no "
                          f"{place.relative_to(root)}.")
    bank = root / "tests" / "banks" / assignment / name
    if bank.exists():
        raise Refused(f"{bank.relative_to(root)} exists: nothing is overwritten.")
    submitted = _submitted(root, assignment) if assignment in ASSIGNMENTS else 0
    if submitted:
        raise Refused(f"{assignment} has {submitted} submissions in the gradebook, and nbgrader takes no release with "
                      "new cells then. Put the exercise into an assignment of its own, or begin a new term with a new "
                      "gradebook.")


def _submitted(root: Path, assignment: str) -> int:
    from autograder.classroom.verify import submissions_and_cells  # imports nbgrader, for seconds

    return submissions_and_cells(root, assignment)[0]


def _filled(template: str, words: Mapping[str, str]) -> str:
    return Template(template).safe_substitute(words)


# ---- the notebook ------------------------------------------------------------------------------------------


def _notebook(file: Path, words: Mapping[str, str]) -> str:
    assignment, dashed = words["assignment"], words["name"].replace("_", "-")
    if file.exists():
        notebook = json.loads(file.read_text(encoding="utf8"))
    else:
        start = assignment.replace("_", "-")
        setup = _code(f"{start}-setup", SETUP, f"{assignment}_setup", locked=True)
        notebook = {"cells": [_markdown(f"{start}-title", _filled(TITLE, words)), setup],
                    "metadata": {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python",
                                                "name": "python3"}, "language_info": {"name": "python"}},
                    "nbformat": 4, "nbformat_minor": 5}
    cells = notebook["cells"]
    new = [_markdown(f"{dashed}-text", _filled(TEXT, words)),
           _code(f"{dashed}-answer", _filled(ANSWER, words), f"{words['name']}_answer", solution=True),
           _code(f"{dashed}-check", _filled(CHECK, words), words["name"], grade=True, locked=True,
                 points=int(words["points"]))]
    taken = _ids(cells) & _ids(new)
    if taken:
        raise Refused(f"{file.name} has a cell {min(taken)} already: nothing is overwritten.")
    _list_in_title(cells[0], _filled(ROW, words))
    place = _after_last_exercise(cells)
    cells[place:place] = new
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _ids(cells: list[dict]) -> set[str]:
    """All ids and grade_ids."""
    ids = {cell.get("id") for cell in cells} | {cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells}
    return ids - {None}


def _list_in_title(cell: dict, row: str) -> None:
    """A row more in the first cell's table, above its row of totals; no table, no row."""
    lines = "".join(cell["source"]).split("\n")
    rows = [number for number, line in enumerate(lines) if line.startswith("|")]
    if rows:
        last = rows[-1]
        place = last if re.match(r"\|\s*\|", lines[last]) else last + 1
        lines.insert(place, row)
        cell["source"] = "\n".join(lines).splitlines(keepends=True)


def _after_last_exercise(cells: list[dict]) -> int:
    """Below the last grade cell that is no question; without any, below the setup cell."""
    graded = [number for number, cell in enumerate(cells) if cell["metadata"].get("nbgrader", {}).get("grade")
              and "".join(cell["source"]).startswith("check(")]
    first_code = next((number for number, cell in enumerate(cells) if cell["cell_type"] == "code"), len(cells) - 1)
    return (graded[-1] if graded else first_code) + 1


def _markdown(id: str, text: str) -> dict:
    return {"cell_type": "markdown", "id": id, "metadata": {}, "source": text.rstrip("\n").splitlines(keepends=True)}


def _code(id: str, text: str, grade_id: str, *, grade: bool = False, solution: bool = False, locked: bool = False,
          points: int | None = None) -> dict:
    role = {"grade": grade, "solution": solution, "locked": locked, "task": False, "grade_id": grade_id}
    role |= {"schema_version": 3} if points is None else {"points": points, "schema_version": 3}
    return {"cell_type": "code", "execution_count": None, "id": id, "metadata": {"nbgrader": role}, "outputs": [],
            "source": text.splitlines(keepends=True)}


# ---- the package -------------------------------------------------------------------------------------------


def _module(file: Path, words: Mapping[str, str]) -> str:
    text = file.read_text(encoding="utf8") if file.exists() else _filled(MODULE, words)
    if re.search(rf"^(def |class )?_{words['name']}\b", text, flags=re.M):
        raise Refused(f"{file.name} has something named _{words['name']} already: nothing is overwritten.")
    assignment = "ASSIGNMENT" if re.search(r"^ASSIGNMENT\b", text, flags=re.M) else repr(words["assignment"])
    entry = f'Exercise("{words["name"]}", {assignment}, _{words["name"]}{words["options"]})'
    text = _appended(text, "EXERCISES", entry, file, "\n    ")
    start = _assigned(text, "EXERCISES", file).lineno - 1
    lines = text.split("\n")
    lines[start:start] = [*_filled(words["record"], words).rstrip("\n").split("\n"), "", ""]
    return _with_imports("\n".join(lines), words["needs"].split())


def _listed(file: Path, words: Mapping[str, str]) -> str:
    text = file.read_text(encoding="utf8")
    if words["assignment"] in ASSIGNMENTS:
        return text
    return _appended(text, "ASSIGNMENTS", f'"{words["assignment"]}"', file, "\n               ")


def _assigned(text: str, variable: str, file: Path) -> ast.Assign:
    for node in ast.parse(text).body:
        targets = [getattr(target, "id", "") for target in getattr(node, "targets", ())]
        if targets == [variable] and isinstance(node.value, ast.Tuple):
            return node
    raise Refused(f"{file.name} has no line {variable} = (…): add the exercise by hand.")


def _appended(text: str, variable: str, entry: str, file: Path, before: str) -> str:
    """The source with one entry more in the tuple `variable`."""
    value = _assigned(text, variable, file).value
    lines = text.encode().split(b"\n")  # the columns of ast count bytes

    def offset(line: int, column: int) -> int:
        return sum(len(each) + 1 for each in lines[:line - 1]) + column

    if not value.elts:
        cut, rest = offset(value.lineno, value.col_offset) + 1, f"{before}{entry},\n)"
        return (text.encode()[:cut] + rest.encode() + text.encode()[offset(value.end_lineno, value.end_col_offset):]
                ).decode()
    last = value.elts[-1]
    cut = offset(last.end_lineno, last.end_col_offset)
    return (text.encode()[:cut] + f",{before}{entry}".encode() + text.encode()[cut:]).decode()


def _with_imports(text: str, needed: list[str]) -> str:
    """The source with what is needed imported: names join the import of their module, or get one in its place."""
    for name in needed:
        body = ast.parse(text).body
        imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        if any((alias.asname or alias.name) == name for node in imports for alias in node.names):
            continue
        lines = text.split("\n")
        if name == "torch":
            first = next(node for node in body if isinstance(node, ast.ImportFrom) and node.module != "__future__")
            lines[first.lineno - 1:first.lineno - 1] = ["import torch", ""]
        else:
            ours = [node for node in imports if isinstance(node, ast.ImportFrom) and node.module != "__future__"]
            same = next((node for node in ours if node.module == IMPORTS[name]), None)
            later = next((node for node in ours if node.module.startswith("autograder")
                          and node.module > IMPORTS[name]), None)
            if same:
                lines[same.lineno - 1:same.end_lineno] = _import(same.module, [a.name for a in same.names] + [name])
            else:
                place = later.lineno - 1 if later else imports[-1].end_lineno
                lines[place:place] = _import(IMPORTS[name], [name])
        text = "\n".join(lines)
    return text


def _import(module: str, names: list[str]) -> list[str]:
    """An import in the order and form of ruff: constants, classes, functions."""
    names = sorted(names, key=lambda name: (0 if name.isupper() else 1 if name[0].isupper() else 2, name))
    line = f"from {module} import {', '.join(names)}"
    return [line] if len(line) <= 120 else [f"from {module} import (", *(f"    {name}," for name in names), ")"]


# ---- the command -------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", help="an assignment, or the name of a new one")
    parser.add_argument("name", help="the name of the function that learners write")
    parser.add_argument("--ranks", action="store_true", help="it is called on every rank of a process group")
    parser.add_argument("--points", type=int, default=10, metavar="N", help="what it is worth (default: %(default)s)")


def run(arguments: argparse.Namespace) -> int:
    try:
        said = new_exercise(Path.cwd(), arguments.assignment, arguments.name, ranks=arguments.ranks,
                            points=arguments.points)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    print("\n".join(said))
    print("It is an exercise that works: the largest item. Make it yours where it says TODO, then release it:")
    print(f"nbgrader generate_assignment {arguments.assignment} --force")
    print(f"What is left to do: python -m autograder verify {arguments.assignment}")
    return 0
