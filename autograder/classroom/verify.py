"""`python -m autograder verify ASSIGNMENT`: is an assignment ready for learners? One line for each thing that is not.

The notebook is well formed, the release is in step and gives nothing away, solutions get all points and stubs none, the
layouts tell mistakes apart, every file of the bank is ruled as it says. The course's own tests call the same rules.
"""
from __future__ import annotations

import argparse
import ast
import importlib.util
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType

import nbformat
from nbformat import NotebookNode
from nbgrader.api import MissingEntry

from autograder import grading
from autograder.classroom.course import CONFIG, Course, Refused
from autograder.classroom.grade.submission import SETTINGS, Result, Task, cells_as_data, grade_task
from autograder.classroom.release import generate
from autograder.classroom.sealed.execute import SealedExecute
from autograder.classroom.sealed.grade_cells import Check, Choice, read_grade_cell
from autograder.classroom.simulate import diagnoses, grade_id
from autograder.diagnosis import KEYS
from autograder.exercises import ASSIGNMENTS, discriminating, exercises_of
from autograder.exercises.record import Exercise
from autograder.notebook import OPTIONS

CHECKS = {"check", "check_choice"}
LEFT = "TODO"  # what new-exercise leaves for the author
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS\n?", flags=re.S)
SOLUTION = re.compile(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", flags=re.S)
OPTION = re.compile(r"^\* \*\*([A-Z])\.\*\*", flags=re.M)
WORTH = re.compile(r"\*\*Difficulty\*\* [●○]{5} \w+ · \*\*Importance\*\* [●○]{5} \w+")
HINTS = [("1", "the rule"), ("2", "where to look"), ("3", "how to test it yourself")]
SECRETS = ("BEGIN SOLUTION", "HIDDEN TESTS", "Mark scheme", "Model answer", "reasons", 'trials="all"', "key=")

Lines = Iterator[str]


# ---- the notebook's rules: each yields a line for every cell that breaks it --------------------------------


def form(notebook: NotebookNode) -> Lines:
    """nbformat 4.5, and ids that are unique and say what a cell is."""
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        yield f"it is nbformat {notebook.nbformat}.{notebook.nbformat_minor}, not 4.5: cells need ids"
        return
    for id, times in Counter(cell.id for cell in notebook.cells).items():
        if times > 1:
            yield f"{times} cells have the id {id}"
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", id):
            yield f"the id {id} does not say what its cell is (lower-case words with hyphens)"


def outputs(notebook: NotebookNode) -> Lines:
    """Committed without outputs."""
    for cell in notebook.cells:
        if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
            yield f"cell {cell.id} has outputs: clear them"


def grade_ids(notebook: NotebookNode) -> Lines:
    """Every grade_id once."""
    for name, times in Counter(filter(None, map(grade_id, notebook.cells))).items():
        if times > 1:
            yield f"{times} cells have the grade_id {name}"


def grade_cells(notebook: NotebookNode) -> Lines:
    """A grade cell is one visible call, named like its exercise, and hidden the same with all trials or the key."""
    for cell in _graded(notebook):
        for trouble in _call_trouble(cell):
            yield f"grade cell {cell.id}: {trouble}"


def points(notebook: NotebookNode) -> Lines:
    """Whole points, at least one."""
    for cell in notebook.cells:
        worth = _role(cell).get("points")
        if _role(cell).get("grade") and not (isinstance(worth, (int, float)) and worth > 0 and worth == int(worth)):
            yield f"cell {cell.id} is worth {worth} points: give a whole number of at least 1"


def answers(notebook: NotebookNode) -> Lines:
    """An answer cell stands right above its grade cell; learners can edit the one and not the other."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for above, cell in zip([None, *code], code, strict=False):
        if not _role(cell).get("grade"):
            continue
        role = _role(above) if above is not None else {}
        if role.get("grade_id") != f"{grade_id(cell)}_answer" or not role.get("solution") or role.get("grade"):
            yield f"grade cell {cell.id}: the code cell above it is not the answer cell {grade_id(cell)}_answer"
        elif role.get("locked") or not _role(cell).get("locked"):
            yield f"grade cell {cell.id} must be locked, the answer cell above it not"


def options(notebook: NotebookNode) -> Lines:
    """Every option of a question has a reason of its own, and one is the key."""
    texts = {cell.id: cell.source for cell in notebook.cells}
    for cell in _graded(notebook):
        kept = _hidden_words(cell)
        if "key" not in kept:
            continue
        letters = OPTION.findall(texts.get(cell.id.replace("-check", "-text"), ""))
        reasons = kept.get("reasons") or {}
        if list(reasons) != letters or kept["key"] not in letters:
            yield (f"question {cell.id}: its text offers {', '.join(letters) or 'no letters'}, there are reasons for "
                   f"{', '.join(map(str, reasons)) or 'none'}, and the key is {kept['key']}")
        elif letters != list(shown := _visible_options(cell)):
            yield (f"question {cell.id}: its text offers {', '.join(letters) or 'no letters'}, its visible call "
                   f"{', '.join(shown)}: give it options=\"{''.join(letters)}\"")
        if len(set(reasons.values())) != len(reasons):
            yield f"question {cell.id}: two options have the same reason"


def sections(notebook: NotebookNode) -> Lines:
    """An exercise's text says what it is worth and asks, and has three hints; the first cell lists it."""
    cells = {cell.id: cell for cell in notebook.cells}
    for cell in _graded(notebook):
        name = grade_id(cell)
        if "key" in _hidden_words(cell):
            continue
        id = f"{name.replace('_', '-')}-text"
        text = cells[id].source if id in cells else ""
        if not text:
            yield f"exercise {name}: there is no text cell {id}"
            continue
        if not WORTH.search(text):
            yield f"exercise {name}: its text does not say difficulty and importance, in dots and a word"
        if f"{_role(cell).get('points')} points" not in text or " minutes" not in text:
            yield f"exercise {name}: its text does not say minutes, or not its {_role(cell).get('points')} points"
        if "**Contract.**" not in text:
            yield f"exercise {name}: its text has no **Contract.**"
        if re.findall(r"<summary>Hint (\d): ([^<]+)</summary>", text) != HINTS:
            yield f"exercise {name}: it needs three folded hints: the rule, where to look, how to test it yourself"
        if f"`{name}`" not in notebook.cells[0].source:
            yield f"exercise {name}: the table in the first cell does not list it"


def stubs(notebook: NotebookNode) -> Lines:
    """A function to write has types and a docstring."""
    for cell in notebook.cells:
        if cell.cell_type != "code" or not _role(cell).get("solution"):
            continue
        for node in _statements(cell.source):
            if isinstance(node, ast.FunctionDef):
                typed = node.returns is not None and all(argument.annotation for argument in node.args.args)
                if not ast.get_docstring(node) or not typed:
                    yield f"answer cell {cell.id}: {node.name} lacks a docstring, or types"


def schemes(notebook: NotebookNode) -> Lines:
    """The parts of a written answer's mark scheme add up to its points."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and _role(cell).get("grade"):
            scheme = cell.source.partition("**Mark scheme**")[2]
            parts = sum(map(int, re.findall(r"^\* [a-z] \((\d+)\):", scheme, flags=re.M)))
            if parts != _role(cell)["points"]:
                yield f"written answer {cell.id}: its mark scheme adds up to {parts} of {_role(cell)['points']} points"


RULES: tuple[Callable[[NotebookNode], Lines], ...] = (
    form, outputs, grade_ids, grade_cells, points, answers, options, sections, stubs, schemes)


def _call_trouble(cell: NotebookNode) -> Lines:
    try:
        shown, kept = _call_in(HIDDEN.sub("", cell.source)), _call_in("".join(HIDDEN.findall(cell.source)))
        words = {word.arg: ast.literal_eval(word.value) for word in kept.keywords}
        asked = read_grade_cell(cell.source)
    except (ValueError, SyntaxError) as error:
        yield f"it must be one visible call of check or check_choice and one in a HIDDEN TESTS block ({error})"
        return
    name = grade_id(cell)
    allowed = {"options"} if isinstance(asked, Choice) else set()
    if {word.arg for word in shown.keywords} - allowed or \
            [ast.dump(node) for node in shown.args] != [ast.dump(node) for node in kept.args]:
        yield "its visible call must have the arguments of the hidden one, and no keyword (a question: its options)"
    if isinstance(asked, Check):
        if asked.exercise != name:
            yield f"it checks {asked.exercise}, its grade_id is {name}: they must be the same"
        if words != {"trials": "all"}:
            yield 'its hidden call must be check(name, trials="all")'
    else:
        if (asked.id, asked.name) != (name, name):
            yield f"it asks for {asked.id} in the variable {asked.name}, its grade_id is {name}: they must be the same"
        if set(words) != {"key", "reasons"}:
            yield "its hidden call must have key=… and reasons=…"


def _call_in(source: str) -> ast.Call:
    """The one call that `source` consists of."""
    body = ast.parse(source).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        raise ValueError(f"there are {len(body)} statements where one call is asked")
    if getattr(body[0].value.func, "id", None) not in CHECKS:
        raise ValueError(f"{ast.unparse(body[0])[:60]} is neither")
    return body[0].value


def _hidden_words(cell: NotebookNode) -> dict:
    """The keywords of a grade cell's hidden call; {} where that is not well formed."""
    try:
        call = _call_in("".join(HIDDEN.findall(cell.source)))
        return {word.arg: ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, SyntaxError):
        return {}


def _visible_options(cell: NotebookNode) -> str:
    """The letters that the visible call of a question takes, where it is well formed."""
    try:
        call = _call_in(HIDDEN.sub("", cell.source))
        return next((str(ast.literal_eval(word.value)) for word in call.keywords if word.arg == "options"), OPTIONS)
    except (ValueError, SyntaxError):
        return OPTIONS


def _statements(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def _role(cell: NotebookNode) -> dict:
    return cell.metadata.get("nbgrader", {})


def _graded(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and _role(cell).get("grade")]


# ---- the release's rules ---------------------------------------------------------------------------------


def leaks(released: NotebookNode, source: NotebookNode) -> Lines:
    """What the released notebook gives away: a solution's line, a key, a reason, a model answer."""
    text = "\n".join(cell.source for cell in released.cells)
    for mark in SECRETS:
        if mark in text:
            yield f"the released notebook holds {mark!r}"
    lines = set(map(str.strip, text.splitlines()))
    for cell in source.cells:
        if cell.cell_type != "code":
            continue
        for solution in SOLUTION.findall(cell.source):
            for line in filter(None, map(str.strip, solution.splitlines())):
                if line in lines:
                    yield f"the released notebook holds a line of the solution in {cell.id}: {line}"
        for reason in (_hidden_words(cell).get("reasons") or {}).values():
            if reason in text:
                yield f"the released notebook holds a reason of {cell.id}"


def unsolved(released: NotebookNode) -> Lines:
    """Every answer of a released notebook is a stub."""
    for cell in released.cells:
        if _role(cell).get("solution") and "raise NotImplementedError()" not in cell.source \
                and cell.source != "YOUR ANSWER HERE":
            yield f"the released answer cell {cell.id} is no stub: put BEGIN SOLUTION and END SOLUTION around it"


def out_of_step(fresh: Path, kept: Path) -> bool:
    """Whether a kept release differs from one that was just made."""
    made = {path.relative_to(fresh): path.read_bytes() for path in fresh.rglob("*") if path.is_file()}
    there = {path.relative_to(kept): path.read_bytes() for path in kept.rglob("*")
             if path.is_file() and not any(part.startswith(".") for part in path.relative_to(kept).parts)}
    return made != there


# ---- solutions and stubs -----------------------------------------------------------------------------------


def marks_of(notebook: NotebookNode, source: NotebookNode) -> Result:
    """How a notebook would be graded by the well formed grade cells of `source`. It runs with your rights."""
    sources = {grade_id(cell): cell.source for cell in _graded(source) if not list(_call_trouble(cell))}
    asked = [read_grade_cell(text) for text in sources.values()]
    seeds = {each.exercise: grading.course_seed(each.exercise) for each in asked if isinstance(each, Check)}
    settings = {name: getattr(SealedExecute(), name) for name in SETTINGS} | {"unsealed": True}
    task = Task("verify", cells_as_data(notebook.cells), sources, seeds, MappingProxyType(settings), "")
    return Result.from_dict(grade_task(task))


def unearned(solved: Result, stubs: Result) -> Lines:
    """Solutions without all points, stubs with some."""
    for name, mark in solved.marks.items():
        if not mark.verdict.passed:
            yield f"solution of {name} does not pass: {mark.verdict.diagnosis}: {_one_line(mark.verdict.message)}"
    for name, mark in stubs.marks.items():
        if mark.verdict.credit or not mark.judged:
            yield f"stub of {name} is not worth 0 points: {_one_line(mark.verdict.message)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# ---- the bank ----------------------------------------------------------------------------------------------


def load(file: Path) -> Callable:
    """The exercise's function out of a bank file, which becomes a module that no import finds."""
    name = "bank_" + "_".join(file.with_suffix("").parts[-3:])
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return getattr(module, file.parent.name)


def accepted_keys(file: Path) -> list[str]:
    """The keys that a wrong file's docstring names; [] for one that names none."""
    return [key for key in diagnoses(file) if key]


def bank_form(file: Path) -> Lines:
    """A right file says what way is taken; a wrong one names known keys, then the mistake."""
    text, keys = ast.get_docstring(ast.parse(file.read_text())) or "", accepted_keys(file)
    if file.name.startswith("right_"):
        if not text or keys:
            yield "its docstring must say what way is taken, and name no diagnosis"
    elif not file.name.startswith("wrong_"):
        yield "it is named neither right_… nor wrong_…"
    elif not keys or set(keys) - set(KEYS):
        unknown = ", ".join(sorted(set(keys) - set(KEYS))) or "none"
        yield f"its docstring must start with `diagnosis: key`, a key of autograder.diagnosis.KEYS; it has {unknown}"
    elif len(text.strip().split("\n")) < 3:
        yield "its docstring does not say what mistake it is"


def bank_ruling(file: Path) -> Lines:
    """A right file passes, a wrong one fails and is named as its first line says."""
    try:
        function = load(file)
    except Exception as error:
        yield f"it cannot be loaded: {type(error).__name__}: {error}"
        return
    verdict = grading.grade(file.parent.name, function, trials="all")
    if file.name.startswith("right_"):
        if not verdict.passed or verdict.diagnosis is not None or verdict.credit != 1:
            yield f"right, but it does not pass: {verdict.diagnosis}: {_one_line(verdict.message)}"
    elif verdict.passed or verdict.credit >= 1:
        yield "wrong, but it passes"
    elif verdict.diagnosis not in accepted_keys(file):
        keys = " or ".join(accepted_keys(file))
        yield f"named {verdict.diagnosis}, not {keys}: {_one_line(verdict.message)}"
    elif not verdict.message.strip() or len(verdict.message.split("\n")) > 5:
        yield "its message must have one to five lines"


# ---- a term that has begun ---------------------------------------------------------------------------------


def submissions_and_cells(root: Path, assignment: str) -> tuple[int, set[str]]:
    """How many submissions the gradebook has, and the cells it knows of the assignment's notebook; (0, {}) without."""
    if not (root / CONFIG).is_file():
        return 0, set()
    course = Course(root)
    if course.gradebook_file is not None and not course.gradebook_file.exists():
        return 0, set()
    with course.gradebook() as book:
        try:
            notebook = book.find_notebook(assignment, assignment)
        except MissingEntry:
            return 0, set()
        return len(notebook.submissions), {cell.name for cell in notebook.source_cells}


def refused_release(root: Path, assignment: str, source: NotebookNode) -> Lines:
    """Cells that were added or removed since learners handed in: nbgrader refuses such a release."""
    submitted, known = submissions_and_cells(root, assignment)
    roles = ("grade", "solution", "locked", "task")
    now = {grade_id(cell) for cell in source.cells if any(_role(cell).get(role) for role in roles)}
    if submitted and known != now:
        changed = [f"new: {', '.join(sorted(now - known))}"] * bool(now - known)
        changed += [f"removed: {', '.join(sorted(known - now))}"] * bool(known - now)
        yield (f"submissions in the gradebook: {submitted}; nbgrader takes no release with other answer or grade "
               f"cells then ({'; '.join(changed)}): put them into another assignment")


# ---- all of it ---------------------------------------------------------------------------------------------


def verify(root: Path, assignment: str, *, quick: bool = False,
           say: Callable[[str], None] = lambda text: None) -> Lines:
    """Everything that is wrong with an assignment, a line each. quick: without the bank. Refused without its source."""
    file = root / "source" / assignment / f"{assignment}.ipynb"
    if not file.is_file():
        raise Refused(f"There is no {file.relative_to(root)} in {root}: run this in the root of the course, or make "
                      f"the assignment: python -m autograder new-exercise {assignment} NAME")
    where = file.relative_to(root)
    say(f"the notebook {where}")
    try:
        source = nbformat.read(file, as_version=nbformat.NO_CONVERT)
        nbformat.validate(source)
    except Exception as error:  # nbformat raises what its parser and its schema raise
        yield f"{where}: no valid notebook: {_one_line(str(error))[:200]}"
        return
    for rule in RULES:
        yield from (f"{where}: {line}" for line in rule(source))
    yield from (f"{where}: {line}" for line in refused_release(root, assignment, source))
    exercises: dict[str, Exercise] = {}
    if assignment not in ASSIGNMENTS:
        yield f"autograder/exercises/__init__.py: ASSIGNMENTS lacks {assignment!r}"
    else:
        exercises = exercises_of(assignment)
        yield from _unmatched(exercises, source, assignment)
    bank = root / "tests" / "banks"
    yield from (f"{path.relative_to(root)}: {line}"
                for path in (file, root / "autograder" / "exercises" / f"{assignment}.py",
                             *sorted((bank / assignment).glob("*/*.py"))) if path.is_file()
                for line in _left(path))

    say(f"the release, made from {where} by nbgrader")
    with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
        try:
            generate(root, assignment, Path(scratch))
        except RuntimeError as error:
            yield f"{where}: {_one_line(str(error))[-400:]}"
            return
        released = nbformat.read(Path(scratch) / assignment / file.name, as_version=4)
        if out_of_step(Path(scratch) / assignment, root / "release" / assignment):
            yield (f"release/{assignment}: not in step with source/{assignment}: run `nbgrader "
                   f"generate_assignment {assignment} --force`")
    yield from (f"{where}: {line}" for line in [*leaks(released, source), *unsolved(released)])

    say("solutions and stubs, graded on all trials")
    yield from (f"{where}: {line}" for line in unearned(marks_of(source, source), marks_of(released, source)))
    say("whether the layouts tell mistakes apart")
    for exercise in exercises.values():
        yield from (f"autograder/exercises/{assignment}.py, {exercise.name}: {line}"
                    for line in discriminating.findings(exercise))
    if not quick and bank.is_dir():
        yield from _bank(root, bank / assignment, exercises, say)


def _unmatched(exercises: dict[str, Exercise], source: NotebookNode, assignment: str) -> Lines:
    checked = {grade_id(cell) for cell in _graded(source) if "key" not in _hidden_words(cell)}
    for name in sorted(checked - set(exercises)):
        yield f"autograder/exercises/{assignment}.py: EXERCISES lacks {name}, which the notebook checks"
    for name in sorted(set(exercises) - checked):
        yield f"source/{assignment}/{assignment}.ipynb: no grade cell checks the exercise {name}"


def _left(file: Path) -> Lines:
    if file.suffix == ".ipynb":
        places = [(f"cell {cell.id}", cell.source) for cell in nbformat.read(file, as_version=4).cells]
    else:
        places = [("", file.read_text())]
    for place, text in places:
        for number, line in enumerate(text.split("\n"), 1):
            if LEFT in line:
                yield f"{place or f'line {number}'}: left to do: {line.partition(LEFT)[2].strip(' :#*')[:70]}"


def _bank(root: Path, folder: Path, exercises: dict[str, Exercise], say: Callable[[str], None]) -> Lines:
    files = []
    for name in exercises:
        found = sorted((folder / name).glob("*.py"))
        for kind in ("right", "wrong"):
            if not any(file.name.startswith(f"{kind}_") for file in found):
                yield f"{(folder / name).relative_to(root)}: there is no {kind}_*.py"
        files += found
    for number, file in enumerate(files, 1):
        say(f"the bank, {number} of {len(files)}: {file.relative_to(folder)}")
        trouble = list(bank_form(file))
        yield from (f"{file.relative_to(root)}: {line}" for line in trouble or bank_ruling(file))


# ---- the command -------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("assignment", help="an assignment in source/")
    parser.add_argument("--quick", action="store_true", help="leave the bank of right and wrong answers out")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per finding; 0 if there is none, 1 if there are some or there is nothing to verify."""
    def say(text: str) -> None:
        line = f"… {text}"
        print(f"\r\033[K{line[:110]}" if sys.stderr.isatty() else line, end="" if sys.stderr.isatty() else "\n",
              file=sys.stderr, flush=True)

    found = 0
    try:
        for line in verify(Path.cwd(), arguments.assignment, quick=arguments.quick, say=say):
            print("\r\033[K" * sys.stderr.isatty() + line, flush=True)
            found += 1
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 1
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    left_out = " (without the bank)" if arguments.quick else ""
    print(f"{arguments.assignment}: {found} findings{left_out}" if found else
          f"{arguments.assignment} is ready{left_out}.")
    return 1 if found else 0
