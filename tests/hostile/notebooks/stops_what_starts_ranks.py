"""outcome: synchronized_item_mean=right, is_equivalent=error | limit, item_mean_q1=right | error | limit

Stops, without ending them, all processes that it may signal but its own: no rank will start.
"""
STOP = """import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) not in (1, os.getpid()):
        os.kill(int(pid), signal.SIGSTOP)"""


def edit(notebook, cell, new_code_cell):
    place = notebook.cells.index(cell(notebook, "is_equivalent_answer"))
    notebook.cells.insert(place, new_code_cell(STOP))
