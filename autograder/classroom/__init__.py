"""The classroom: everything around nbgrader. `configure(c)` is all that an `nbgrader_config.py` needs.

`sealed/`: a submission is graded sealed, in the place of nbgrader's Execute. `grade/`: a class is graded in parallel.
Settings and steps of nbgrader: `config`, `course`, `guard`, `preprocessors`, `pages` with `formulas`.
Around grading: `lab`, `collect`, `marks` for `export` and `report`, `bundle`, `simulate`, `demo`.
Authoring: `authoring`, `verify`, `release`.

Importing this package imports neither torch nor nbgrader.
"""

from .config import configure

__all__ = ["configure"]
