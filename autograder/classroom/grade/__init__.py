"""`python -m autograder grade`: a class graded sealed, in parallel, and gone on with where it was stopped.

The `command` turns each hand-in into data (`submission`), has `workers` grade it, keeps `results`, and has nbgrader
write them (`writer`, `late`); `progress` is what one sees meanwhile.
"""
