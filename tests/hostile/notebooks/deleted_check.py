"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

A grade cell is deleted.
"""
def edit(notebook, cell, new_code_cell):
    notebook.cells.remove(cell(notebook, "is_equivalent"))
