"""outcome: synchronized_item_mean=right, is_equivalent=right, item_mean_q1=right

Helpers, constants, magics, a shell command and a top-level await in cells of their own.
"""
ANSWERS = {"synchronized_item_mean": """def synchronized_item_mean(local_gradients):
    return HELPERS["mean"](local_gradients) * number"""}

CELLS = [
    "from __future__ import annotations\n%matplotlib inline",
    """def item_mean(local_gradients: Undefined) -> Undefined:
    total, count = local_gradients.detach().double().sum(0), torch.tensor(len(local_gradients))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return (total / count.item()).to(local_gradients.dtype)
HELPERS = {"mean": item_mean}""",
    "%time number = 1\n!echo from a shell",
    "%%writefile helper_of_mine.py\nVALUE = 1",
    "import asyncio\nimport helper_of_mine\nawait asyncio.sleep(0)\nnumber = helper_of_mine.VALUE",
    "from IPython.display import HTML, display\ndisplay(HTML('<b>bold</b>'))\nnumber",
    "check(item_mean, 'synchronized_item_mean')",
    "1 / 0",
]


def edit(notebook, cell, new_code_cell):
    place = notebook.cells.index(cell(notebook, "synchronized_item_mean_answer"))
    notebook.cells[place:place] = [new_code_cell(source) for source in CELLS]
