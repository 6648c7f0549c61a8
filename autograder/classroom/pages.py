"""Pages made of submissions, for feedback and formgrader: whatever learners wrote is shown, and nothing of it runs."""
from __future__ import annotations

import re

import bleach
from nbconvert.filters import markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.corpus.words import generate_corpus_id

_TAGS = frozenset(
    "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p pre s small "
    "span strong sub summary sup table tbody td tfoot th thead tr u ul".split())
_ATTRIBUTES = {"*": ["class", "id"], "a": ["href", "title"], "img": ["src", "alt", "title", "width", "height"],
               "td": ["align", "colspan", "rowspan"], "th": ["align", "colspan", "rowspan"], "ol": ["start"]}


def clean_html(source: str) -> str:
    """HTML without scripts, handlers, styles and links that run; what is not allowed is shown as text."""
    return bleach.clean(source, tags=_TAGS, attributes=_ATTRIBUTES)


def clean_markdown(source: str) -> str:
    """Markdown as clean HTML, whoever wrote it: in place of nbconvert's filter."""
    return clean_html(markdown2html(source))


class SanitizeLearners(Preprocessor):
    """For pages made of a submission: no HTML in a learner's outputs, and no metadata that templates act on."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        nb.metadata = NotebookNode(kernelspec=NotebookNode(name="python3", display_name="Python 3"),
                                   language_info=NotebookNode(name="python"))
        for cell in nb.cells:
            if "id" in cell and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", str(cell.id)):
                cell.id = generate_corpus_id()
            metadata = cell.metadata.get("nbgrader", {})
            if metadata.get("locked") and (metadata.get("grade") or not metadata.get("solution")):
                continue
            cell.pop("attachments", None)
            if cell.cell_type == "raw":
                cell.source = clean_html(cell.source)
            for output in cell.get("outputs", ()):
                if "data" in output:
                    output.data = NotebookNode({kind: value for kind, value in output.data.items()
                                                if kind in ("text/plain", "image/png", "image/jpeg")})
        return nb, resources
