"""Grading sealed: learners' cells run in a sandbox, grade cells are judged outside it, each with an outcome.

`execute` stands in the place of nbgrader's Execute and makes an `attempt` at each notebook. That runs the cells
through a `session` with a `sandbox` (what runs in there: `inside/`; what it may not ask of the kernel: `seccomp`),
reads `grade_cells` as data and has a judge decide on the `records` of the ranks; `outcomes` says how that became marks.
`config` tells nbgrader of it.
"""
