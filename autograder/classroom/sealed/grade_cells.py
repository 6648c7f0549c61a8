"""Grade cells as data: what each asks, read from the gradebook's own source and never run."""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from nbgrader.api import Gradebook


def questions(db_url: str, assignment: str, notebook: str) -> tuple[dict[str, float], dict[str, str]]:
    """The grade cells of a notebook, from the gradebook: what each is worth, and the source of those of code."""
    with Gradebook(db_url) as gradebook:
        found = gradebook.find_notebook(notebook, assignment)
        answers = {cell.name for cell in found.solution_cells}
        points = {cell.name: float(cell.max_score) for cell in found.grade_cells if cell.name not in answers}
        sources = {cell.name: cell.source for cell in found.source_cells
                   if cell.name in points and cell.cell_type == "code"}
    return points, sources


@dataclass(frozen=True)
class Check:
    """A grade cell `check(name)`: which function of the notebook is graded as which exercise, on which trials."""

    exercise: str
    name: str
    trials: str = "visible"


@dataclass(frozen=True)
class Choice:
    """A grade cell `check_choice("id", name)`: which variable holds the letter, which is right, and why."""

    id: str
    name: str
    key: str
    reasons: Mapping[str, str] = field(default_factory=dict)


def read_grade_cell(source: str) -> Check | Choice:
    """What a grade cell asks, read without running it. ValueError, with what is wrong, for any other cell."""
    try:
        calls = [statement.value for statement in ast.parse(source).body if isinstance(statement, ast.Expr)]
        others = [statement for statement in ast.parse(source).body if not isinstance(statement, ast.Expr)]
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"it is no Python: {error}") from None
    names = {call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else "" for call in calls}
    if others or not calls or names not in ({"check"}, {"check_choice"}):
        raise ValueError("it holds more than calls of check(name) or check_choice(\"id\", name)")
    read = [_arguments(call) for call in calls]
    return _choice(read) if names == {"check_choice"} else _check(read)


def _arguments(call: ast.Call) -> tuple[list, dict]:
    """Positional and keyword arguments: variables as ast.Name, everything else as the value of its literal."""
    def value(node: ast.expr) -> object:
        return node if isinstance(node, ast.Name) else ast.literal_eval(node)

    try:
        return [value(node) for node in call.args], {word.arg: value(word.value) for word in call.keywords}
    except ValueError:
        raise ValueError(f"an argument of {ast.unparse(call)[:80]} is no plain name and no literal") from None


def _check(calls: list[tuple[list, dict]]) -> Check:
    asked = set()
    for positional, words in calls:
        exercise = words.get("exercise", positional[1] if len(positional) == 2 else None)
        if not 1 <= len(positional) <= 2 or not isinstance(positional[0], ast.Name) \
                or set(words) - {"exercise", "trials"}:
            raise ValueError("a check is check(name), with an exercise and trials if need be")
        asked.add((exercise or positional[0].id, positional[0].id))
    trials = {words.get("trials", "visible") for _, words in calls}
    if len(asked) != 1 or trials - {"visible", "all"}:
        raise ValueError("its checks do not ask for one function and one exercise")
    ((exercise, name),) = asked
    return Check(str(exercise), name, "all" if "all" in trials else "visible")


def _choice(calls: list[tuple[list, dict]]) -> Choice:
    asked = {(positional[0], positional[1].id) for positional, _ in calls
             if len(positional) == 2 and isinstance(positional[0], str) and isinstance(positional[1], ast.Name)}
    keyed = [words for _, words in calls if "key" in words]
    if len(asked) != 1 or not keyed:
        raise ValueError("a question needs check_choice(\"id\", name), and a hidden one with its key")
    ((id, name),) = asked
    key, reasons = keyed[-1]["key"], keyed[-1].get("reasons") or {}
    if not isinstance(key, str) or not isinstance(reasons, dict):
        raise ValueError("the key of a question is a letter, its reasons a dictionary")
    return Choice(id, name, key, {str(letter): str(reason) for letter, reason in reasons.items()})
