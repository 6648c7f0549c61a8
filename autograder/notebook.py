"""What a notebook's cells call: check, check_choice, warm_up. They show a verdict and raise when it is not right."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from autograder.verdict import Verdict, WrongUpdate

OPTIONS = "ABCD"


def warm_up() -> None:
    """Start the fork server in the background, so that the first check of a notebook is as quick as the others."""
    from autograder.grading import PRELOAD
    from autograder.ranks.processes import start_server

    start_server(PRELOAD)


def check(fn: Callable, exercise: str | None = None, *, trials: str = "visible", backend: str = "gloo") -> None:
    """Grade your function on real ranks, show the verdict, and raise WrongUpdate if it is not right.

    exercise: the name of the exercise, for a callable without a name of its own. trials: "visible" or "all".
    backend: "gloo", "nccl" (one GPU per rank) or "auto"; marks are given on gloo.
    """
    from autograder.grading import grade

    name = exercise or getattr(fn, "__name__", None) or type(fn).__name__
    if not callable(fn):
        message = (f"check needs your function, not a {type(fn).__name__}: pass its name without quotes or brackets, "
                   "and give that name to nothing else.")
        name = exercise or (fn[:80] if isinstance(fn, str) else "check")
        _announce(Verdict(name, False, 0.0, "wrong-type", message, backend="none"))
    try:
        verdict = grade(name, fn, trials=trials, backend=backend)
    except KeyboardInterrupt:
        raise Stopped("The check was stopped, and all its ranks are ended.") from None
    _announce(verdict)


class Stopped(KeyboardInterrupt):
    """The Stop button or Ctrl-C during a check. In a notebook its traceback is one line."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def check_choice(id: str, letter: str | None, *, options: str = OPTIONS, key: str | None = None,
                 reasons: Mapping[str, str] | None = None) -> None:
    """Note the answer to a quiz question, or with its `key` judge it and show the reason of the chosen letter.

    id: the question; letter: one letter (case does not matter); options: the letters that there are, where they are
    not A to D; reasons: letter → why it is right or wrong.
    """
    verdict = judge_choice(id, letter, key, reasons or {}, options)
    if verdict is None:
        print(f"{id}: {letter.strip().upper()} is noted. It is graded when the assignment is.")
    else:
        _announce(verdict)


def judge_choice(id: str, letter: object, key: str | None, reasons: Mapping[str, str],
                 options: str = OPTIONS) -> Verdict | None:
    """The verdict on a letter; None for a proper letter whose key is not known here. Reasons say which letters there
    are, else `options`."""
    def wrong(diagnosis: str, message: str) -> Verdict:
        return Verdict(id, False, 0.0, diagnosis, message, backend="none")

    if letter is None or letter is ... or letter == "":
        return wrong("not-implemented", "No letter is chosen yet.")
    chosen = letter.strip().upper() if isinstance(letter, str) else ""
    letters = tuple(reasons) or tuple(options)
    if chosen not in letters:
        said = repr(letter)[:60] if isinstance(letter, str) else f"a {type(letter).__name__}"
        return wrong("wrong-type", no_option(said, letters))
    if key is None:
        return None
    message = f"{chosen} is {'right' if chosen == key else 'not right'}. {reasons.get(chosen, '')}".strip()
    if chosen != key:
        return wrong("wrong-answer", message)
    return Verdict(id, True, 1.0, None, message, backend="none")


def no_option(said: str, letters: Sequence[str]) -> str:
    """What to tell somebody who answered `said` where these letters are asked."""
    return f"{said} is not an answer: give {', '.join(letters[:-1])} or {letters[-1]}, one letter in quotes."


def _announce(verdict: Verdict) -> None:
    """Show a verdict where we are: HTML in a notebook, text elsewhere; raise if it does not pass."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None and hasattr(ipython.get_ipython(), "kernel"):
        from IPython.display import display

        display(verdict)
    else:
        print(verdict)
    if not verdict.passed:
        raise WrongUpdate(verdict)
