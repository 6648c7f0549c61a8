"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

A cell's exception that never finishes its message: the cell is interrupted, and what follows counts.
"""
RAISE = """import time
class Endless(Exception):
    def __str__(self):
        while True:
            time.sleep(60)
raise Endless"""


def edit(notebook, cell, new_code_cell):
    notebook.cells.insert(2, new_code_cell(RAISE))
