"""The classroom: nbgrader settings, the learner's lab, the demonstration.

`configure(c)` is all that an `nbgrader_config.py` needs. Everything else here is run with
`python -m autograder.classroom.NAME`. Importing this package imports neither torch nor nbgrader.
"""

from .config import configure

__all__ = ["configure"]
