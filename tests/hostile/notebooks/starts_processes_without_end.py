"""outcome: synchronized_item_mean=right, is_equivalent=right | error | limit, item_mean_q1=right | error | limit

Processes that start processes, in sessions of their own, from a cell.
"""
BOMB = """import subprocess
subprocess.Popen(["sh", "-c", "while :; do setsid sh -c 'sleep 30 & sleep 30 & sleep 30' & done"],
                 stderr=subprocess.DEVNULL)"""


def edit(notebook, cell, new_code_cell):
    place = notebook.cells.index(cell(notebook, "is_equivalent_answer"))
    notebook.cells.insert(place, new_code_cell(BOMB))
