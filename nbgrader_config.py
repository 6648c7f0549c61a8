"""nbgrader's settings for this course; docs/instructors.md explains what to change."""

from pathlib import Path

from autograder.classroom import configure

c = get_config()  # noqa: F821  (nbgrader defines it)
configure(c, root=Path(__file__).parent)
