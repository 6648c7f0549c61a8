"""The classroom: everything around nbgrader. `configure(c)` is all that an `nbgrader_config.py` needs.

A submission is graded sealed: `sealed` stands in the place of nbgrader's Execute; an `attempt` runs the cells in the
`sandbox` (`inside/`, `seccomp`) through a `session`, and has `grade_cells` judged outside, with an `outcome` each.
A class is graded in parallel: `grade` turns each hand-in into data (`submission`), has `workers` grade it, keeps
`results`, and has nbgrader write them (`writer`, `late`).
Settings and steps of nbgrader: `config`, `seal`, `course`, `guard`, `preprocessors`, `pages`, `formulas`.
Around grading: `lab`, `collect`, `marks` for `export` and `report`, `bundle`, `simulate`, `demo`.
Authoring: `authoring`, `verify`, `release`.

Importing this package imports neither torch nor nbgrader.
"""

from .config import configure

__all__ = ["configure"]
