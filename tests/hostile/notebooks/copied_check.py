"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

A grade cell stands there twice.
"""
from copy import deepcopy


def edit(notebook, cell, new_code_cell):
    copy = deepcopy(cell(notebook, "is_equivalent"))
    copy.id, copy.source = "copied", "1000.0"
    notebook.cells.insert(1, copy)
