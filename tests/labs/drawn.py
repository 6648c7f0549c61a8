"""What a picture shows, read from its markup."""

import xml.etree.ElementTree as ElementTree
from xml.etree.ElementTree import Element

SVG = "{http://www.w3.org/2000/svg}"


def svg(shown) -> Element:
    """The drawing of a picture, or of what a lab shows now."""
    markup = shown._repr_html_() if hasattr(shown, "_repr_html_") else shown._view.value
    return ElementTree.fromstring(markup).find(f".//{SVG}svg")


def marks(shown, of: str) -> list[Element]:
    """The marks that are named `of`, from the first drawn to the last."""
    return [mark for mark in svg(shown).iter() if mark.get("data-of") == of]


def numbers(shown, of: str, attribute: str) -> list[float]:
    return [float(mark.get(attribute)) for mark in marks(shown, of)]


def points(mark: Element) -> list[tuple[float, float]]:
    """Where a line or a corner stands."""
    return [tuple(map(float, pair.split(","))) for pair in mark.get("points").split()]


def texts(shown) -> list[str]:
    """All lines of text."""
    return [mark.text for mark in svg(shown).iter(f"{SVG}text")]


def headline(shown) -> str:
    (mark,) = marks(shown, "headline")
    return mark.text
