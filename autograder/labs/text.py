"""The real input of lessons 4 and 5: docstrings of the standard library that runs the notebook, as bytes, and a tiny
causal language model for them.

A document is START, its bytes, END. Nothing is downloaded: the text lies in every Python installation. It differs
a little between Python versions, and so do the numbers that follow from it.
"""

from __future__ import annotations

import ast
import random
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from autograder.window import IGNORE_INDEX

START, END, PADDING = 256, 257, 258  # behind the 256 values of a byte
VOCABULARY = 259
LONGEST = 320  # bytes of a docstring that are used
_MODULES = (
    "argparse ast contextlib csv datetime difflib enum fractions functools heapq inspect pathlib pickle random "
    "shutil statistics string subprocess tarfile textwrap threading traceback typing uuid zipfile"
).split()


def docstrings(modules: Sequence[str] = tuple(_MODULES)) -> list[str]:
    """The docstrings of functions and classes in these modules of the standard library, without duplicates.

    In order of module and place. A module that this Python has no source file for is left out.
    """
    folder = Path(sysconfig.get_path("stdlib"))
    found: dict[str, None] = {}
    for module in modules:
        path = next((p for p in (folder / f"{module}.py", folder / module / "__init__.py") if p.is_file()), None)
        for node in ast.walk(ast.parse(path.read_bytes())) if path else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[ast.get_docstring(node) or ""] = None
    found.pop("", None)
    return list(found)


def tokens(text: str) -> Tensor:
    """START, the bytes of the text (at most LONGEST), END: int64, [n + 2]. It has n + 1 targets."""
    return torch.tensor([START, *text.encode()[:LONGEST], END])


def padded(documents: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(input_ids, labels), both [B, T] with T the longest document: PADDING in the ids, -100 in the labels."""
    longest = max((len(document) for document in documents), default=1)
    none = torch.empty(0, longest, dtype=torch.int64)
    ids = [pad(document, (0, longest - len(document)), value=PADDING) for document in documents]
    ids = torch.stack(ids) if ids else none
    return ids, torch.where(ids == PADDING, IGNORE_INDEX, ids)


def split(documents: Sequence[Tensor], held_out: int, seed: int = 0) -> tuple[list[Tensor], list[Tensor]]:
    """(training documents, held-out documents) in an order fixed by `seed`; `held_out` of them are held out."""
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    shuffled = [documents[i] for i in order]
    return shuffled[held_out:], shuffled[:held_out]


def without_repeats(documents: Sequence[Tensor], context: int = 5) -> list[Tensor]:
    """The documents, in order, in which no prediction (`context` tokens and the next) was met before.

    Equal predictions have equal gradients, and then only the sum of their weights can be recovered.
    """
    seen: set[tuple[int, ...]] = set()
    kept = []
    for document in documents:
        tape = [START] * (context - 1) + document.tolist()
        new = [tuple(tape[i : i + context + 1]) for i in range(len(tape) - context)]
        if len(set(new)) == len(new) and seen.isdisjoint(new):
            seen.update(new)
            kept.append(document)
    return kept


class TinyLanguageModel(nn.Module):
    """Token ids [B, T] -> logits [B, T, VOCABULARY]; position t sees the tokens t − `context` + 1 … t, none later.

    One hidden layer over the embeddings of the last `context` tokens, as in Bengio et al., *A Neural Probabilistic
    Language Model*, JMLR 2003. Padding stands at the end of a row, where no earlier position sees it.
    """

    def __init__(self, context: int = 5, width: int = 16, hidden: int = 64) -> None:
        super().__init__()
        self.context = context
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.hidden = nn.Linear(context * width, hidden)
        self.output = nn.Linear(hidden, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        before = pad(ids, (self.context - 1, 0), value=START)
        seen = self.embedding(before.unfold(1, self.context, 1)).flatten(2)  # [B, T, context · width]
        return self.output(self.hidden(seen).relu())
