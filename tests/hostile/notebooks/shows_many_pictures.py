"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

Shows more pictures than a frame may hold: some are left out, and what follows counts.
"""
SHOW = r"""import base64
from IPython.display import display
picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 1_500_000).decode()
for _ in range(150):
    display({"image/png": picture}, raw=True)"""


def edit(notebook, cell, new_code_cell):
    notebook.cells.insert(2, new_code_cell(SHOW))
