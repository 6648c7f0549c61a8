"""outcome: synchronized_item_mean=right, is_equivalent=error, item_mean_q1=right

Edits points, flags, type and names of the grade cells, tags them, and hides HTML in its own cells.
"""
ANSWERS = {"is_equivalent": None}


def edit(notebook, cell, new_code_cell):
    check = cell(notebook, "synchronized_item_mean")
    check.metadata.nbgrader.points = 1000
    check.metadata.tags = ["skip-execution", "raises-exception"]
    check = cell(notebook, "is_equivalent")
    check.metadata.nbgrader.update(grade=False, solution=True, locked=False, points=10)
    check.source = "def is_equivalent(*args):\n    return True"
    check.cell_type = "markdown"
    check.pop("outputs"), check.pop("execution_count")
    cell(notebook, "essay").source = "<script>alert('canary-script')</script><img src=x onerror=alert(1)>"
    notebook.metadata["title"] = "</title><script>alert('canary-script')</script>"
