"""Pages made of submissions, for feedback and formgrader: whatever learners wrote is shown, and nothing of it runs."""
from __future__ import annotations

import re
from copy import deepcopy

import bleach
from nbconvert import HTMLExporter
from nbconvert.filters import markdown2html
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.corpus.words import generate_corpus_id
from traitlets import Bool

from autograder.classroom.formulas import draw_formulas
from autograder.verdict import NOT_RIGHT

_TAGS = frozenset(
    "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p pre s small "
    "span strong sub summary sup table tbody td tfoot th thead tr u ul".split())
_ATTRIBUTES = {"*": ["class", "id"], "a": ["href", "title"], "img": ["src", "alt", "title", "width", "height"],
               "td": ["align", "colspan", "rowspan"], "th": ["align", "colspan", "rowspan"], "ol": ["start"]}


def clean_html(source: str) -> str:
    """HTML without scripts, handlers, styles and links that run; what is not allowed is shown as text."""
    return bleach.clean(source, tags=_TAGS, attributes=_ATTRIBUTES)


def clean_markdown(source: str) -> str:
    """Markdown as clean HTML, whoever wrote it, with its formulas drawn: in place of nbconvert's filter."""
    return draw_formulas(clean_html(markdown2html(source)))


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


class PersonsComments(Preprocessor):
    """For feedback: no comment of nbgrader's own on a stub of code, where the verdict below says more."""

    enabled = Bool(True, help="Whether to leave them out.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        for cell in nb.cells:
            role = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "code" and role.get("comment") == "No response.":
                role["comment"] = None
        return nb, resources


_CSS = """
.rendered_html th, .rendered_html td { padding: 3px 12px; text-align: left; }
.rendered_html table { margin-bottom: 1em; }
summary { display: list-item; cursor: pointer; }
.anchor-link, .prompt { display: none; }
"""
_COMMENTED = re.compile(r'<a href="#comment-([^"]+?)(_answer)?">Comment</a>')
_LISTED = re.compile(r'<a href="#([^"]+)">(?:Test cell|Coding free-response|Written response|Task)</a>')


class FeedbackExporter(HTMLExporter):
    """nbgrader's page of feedback for its reader: exercises by name, final words, no numbers that only nbgrader reads.

    The page is nbgrader's own template; where another version of it says things otherwise, they stay as they are.
    """

    def from_notebook_node(self, nb: NotebookNode, resources: dict | None = None, **kw) -> tuple[str, dict]:
        nb = deepcopy(nb)
        for cell in nb.cells:
            role = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "code" and role.get("grade") and not role.get("solution"):
                ungraded = any(output.get("ename") == "NeedsManualGrade" for output in cell.outputs)
                cell.outputs = [_final(output, ungraded) for output in cell.outputs if not _for_nbgrader(output)]
        page, resources = super().from_notebook_node(nb, resources, **kw)
        listed, end, rest = page.partition("</ol>")
        page = _LISTED.sub(r'<a href="#\1"><code>\1</code></a>', listed) + end + rest
        page = _COMMENTED.sub(r'<a href="#comment-\1\2">a comment on <code>\1</code></a>', page)
        page = page.replace('<span class="nbgrader-label">Student\'s ', '<span class="nbgrader-label">Your ')
        # MathJax comes from the network and has little left to draw: a page that waits for it stays white without one.
        page = page.replace("<script src=", "<script defer src=")
        return page.replace("</head>", f"<style>{_CSS}</style></head>", 1), resources


def _for_nbgrader(output: NotebookNode) -> bool:
    """Whether an output of a grade cell is its points, or says again that there are none yet."""
    return output.output_type == "execute_result" or output.get("ename") == "NeedsManualGrade"


def _final(output: NotebookNode, ungraded: bool) -> NotebookNode:
    """A verdict after which nobody tries again."""
    data = output.get("data", {})
    if "text/html" in data:
        word = "not graded yet" if ungraded else NOT_RIGHT
        data["text/html"] = data["text/html"].replace(f"{NOT_RIGHT} yet", word, 1)
    return output
