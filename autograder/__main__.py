"""`python -m autograder COMMAND`: each command is a module, imported only when it is asked for.

A command module has `add_arguments(parser)` and `run(arguments) -> exit status`. To add one, add
a line to COMMANDS.
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

# name: (module, one line of help)
COMMANDS: dict[str, tuple[str, str]] = {
    "grade": ("autograder.classroom.grade.command",
              "grade a class sealed, in parallel, and go on where it was stopped"),
    "collect": ("autograder.classroom.collect", "take in uploads from an LMS, whatever their names"),
    "export": ("autograder.classroom.export", "marks and reasons as CSV, for people, Canvas or Moodle"),
    "report": ("autograder.classroom.report", "a page about the class: what to teach again"),
    "bundle": ("autograder.classroom.bundle", "what learners of a class get, as one zip file"),
    "simulate": ("autograder.classroom.simulate", "write a class of varied submissions, to try things out"),
    "verify": ("autograder.classroom.verify", "is an assignment ready to be handed out? what is left to do"),
    "new-exercise": ("autograder.classroom.authoring", "add an exercise that works, to be made yours"),
    "survey": ("autograder.survey.command", "measure what each token weighs in real trainers"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its exit status, or 2 for an unknown one."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="python -m autograder")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    module = None
    for name, (place, words) in COMMANDS.items():
        command = commands.add_parser(name, help=words, description=words)
        if name == next((word for word in argv if not word.startswith("-")), None):
            module = import_module(place)
            module.add_arguments(command)
    arguments = parser.parse_args(argv)
    return module.run(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # also while a command is being imported, which takes seconds
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
