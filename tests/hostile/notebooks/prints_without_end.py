"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

Prints a hundred megabytes to each stream, through Python and past it, and a picture that is none.
"""
LOUD = """import os
for _ in range(100):
    print("x" * 1_000_000)
os.system("yes | head -c 100000000")
from IPython.display import display
display({"image/png": "<script>alert('canary-script')</script>", "text/html": "<script>alert('canary-script')</script>",
         "text/plain": "<script>alert('canary-script')</script>"}, raw=True)
"<script>alert('canary-script')</script>\x1b[2J" """


def edit(notebook, cell, new_code_cell):
    notebook.cells.insert(2, new_code_cell(LOUD))
