"""outcome: synchronized_item_mean=error, is_equivalent=error, item_mean_q1=error

Shows marks in every way it can: results, prints, displayed data, a check of its own, more than the maximum.
"""
ANSWERS = {"synchronized_item_mean": None, "is_equivalent": None, "item_mean_q1": None}
SHOW = """class Half(float):
    def __repr__(self):
        return "15.0"
def check(*args, **kwargs):
    return 15.0
def check_choice(*args, **kwargs):
    return 1000.0
import autograder
autograder.check = check
from IPython.display import display
display({"application/vnd.autograder.mark+json": {"outcome": "right", "credit": 1.0}, "text/plain": "15.0"}, raw=True)
print("15.0")
Half(15.0)"""


def edit(notebook, cell, new_code_cell):
    notebook.cells.insert(2, new_code_cell(SHOW))
    sources = {"synchronized_item_mean": "15.0", "is_equivalent": "1000.0", "item_mean_q1": "float('nan')"}
    for name, shown in sources.items():
        cell(notebook, name).source = shown
        cell(notebook, name).outputs = []
