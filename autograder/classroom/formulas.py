"""TeX formulas as MathML, which browsers draw without a network."""
from __future__ import annotations

import re
from html import unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

_CODE = re.compile(r"(<(?:code|pre)\b.*?</(?:code|pre)>)", re.DOTALL)
_FORMULA = re.compile(r"(?<![\\$])(\$\$?)([^$<>]{1,2000})\1")
_ATTRIBUTES = frozenset(
    "accent accentunder columnalign columnspacing display displaystyle fence form linethickness lspace mathvariant "
    "maxsize minsize movablelimits rowspacing rspace scriptlevel separator stretchy width xmlns".split())


def draw_formulas(page: str) -> str:
    """HTML whose formulas between dollars are MathML; those that are no TeX, and code, stay as they are."""
    parts = _CODE.split(page)
    parts[::2] = [_FORMULA.sub(_drawn, part) for part in parts[::2]]
    return "".join(parts)


def _drawn(found: re.Match) -> str:
    try:
        formula = convert_to_element(unescape(found[2]), display="block" if found[1] == "$$" else "inline")
        for element in formula.iter():
            _make_plain(element)
    except Exception:  # of many kinds, and whatever a learner writes must not stop a page
        return found[0]
    return tostring(formula, encoding="unicode")


def _make_plain(element: Element) -> None:
    """Text as text (the library writes entities into it), and no attribute that a page would act on."""
    element.text = unescape(element.text or "").replace(r"\_", "_")
    if "\\" in element.text:
        raise ValueError(f"a command that is not known: {element.text}")
    for name in set(element.attrib) - _ATTRIBUTES:
        del element.attrib[name]
