"""outcome: synchronized_item_mean=limit, is_equivalent=limit, item_mean_q1=right

Makes empty files where ranks meet until there can be no more.
"""
FILL = """try:
    for number in range(10**6):
        open(f"/tmp/{number}", "w").close()
except OSError:
    pass"""


def edit(notebook, cell, new_code_cell):
    notebook.cells.insert(2, new_code_cell(FILL))
