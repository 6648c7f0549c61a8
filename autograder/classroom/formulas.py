"""TeX formulas as MathML, which browsers draw without a network: what the course's cells use of TeX, and no more."""
from __future__ import annotations

import re
from html import escape, unescape

_SYMBOLS = {
    "sum": "∑", "nabla": "∇", "partial": "∂", "infty": "∞", "min": "min", "max": "max", "ell": "ℓ", "dots": "…",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "eta": "η", "theta": "θ", "lambda": "λ",
    "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ", "ge": "≥", "le": "≤", "ne": "≠", "approx": "≈", "in": "∈",
    "to": "→", "cdot": "·", "times": "×", "pm": "±", "lVert": "‖", "rVert": "‖", "lceil": "⌈", "rceil": "⌉",
    "lfloor": "⌊", "rfloor": "⌋", "{": "{", "}": "}", "_": "_", "%": "%"}
_ACCENTS = {"bar": "¯", "hat": "^", "tilde": "~"}
_SPACES = {",": "0.17em", ";": "0.28em", " ": "0.25em", "quad": "1em", "qquad": "2em"}
_WITH_LIMITS = ("<mo>∑</mo>", "<mi>min</mi>", "<mi>max</mi>")
_CODE = re.compile(r"(<(?:code|pre)\b.*?</(?:code|pre)>)", re.DOTALL)
_FORMULA = re.compile(r"(?<![\\$])(\$\$?)([^$<>]+)\1")


def draw_formulas(page: str) -> str:
    """HTML whose formulas between dollars are MathML; those with anything unknown, and code, stay as they are."""
    parts = _CODE.split(page)
    parts[::2] = [_FORMULA.sub(_drawn, part) for part in parts[::2]]
    return "".join(parts)


def _drawn(found: re.Match) -> str:
    display = "block" if found[1] == "$$" else "inline"
    try:
        return f'<math display="{display}">{_Formula(unescape(found[2])).row()}</math>'
    except (LookupError, ValueError):
        return found[0]


class _Formula:
    """Reads TeX from left to right. LookupError or ValueError for what it does not know."""

    def __init__(self, tex: str) -> None:
        self._tokens = re.findall(r"\\[A-Za-z]+|\\.|.", tex, re.DOTALL)

    def row(self, end: str = "") -> str:
        parts = []
        while (token := self._next()) != end:
            if not token:
                raise ValueError("a group without an end")
            parts.append(self._scripted())
        del self._tokens[:1]
        return f"<mrow>{''.join(parts)}</mrow>"

    def _next(self) -> str:
        while self._tokens and self._tokens[0].isspace():
            del self._tokens[0]
        return self._tokens[0] if self._tokens else ""

    def _scripted(self) -> str:
        base, scripts = self._atom(), {}
        while (mark := self._next()) in ("_", "^"):
            del self._tokens[0]
            if mark in scripts:
                raise ValueError("two scripts in one place")
            scripts[mark] = self._argument()
        if not scripts:
            return base
        below, above = ("under", "over") if base in _WITH_LIMITS else ("sub", "sup")
        tag = "m" + below * ("_" in scripts) + above * ("^" in scripts)
        return f"<{tag}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{tag}>"

    def _argument(self) -> str:
        self._next()
        return self._atom(one_digit=True)

    def _atom(self, one_digit: bool = False) -> str:
        token = self._tokens.pop(0)
        if token == "{":
            return self.row("}")
        if token.isdecimal():
            while not one_digit and self._tokens and re.fullmatch(r"[\d.]", self._tokens[0]):
                token += self._tokens.pop(0)
            return f"<mn>{token}</mn>"
        if token.startswith("\\"):
            return self._command(token[1:])
        if token in "}_^&#~%$":
            raise ValueError(f"{token} in a place of its own")
        return _one({"-": "−", "'": "′"}.get(token, token))

    def _command(self, name: str) -> str:
        if name in ("frac", "tfrac"):
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self._argument()}</msqrt>"
        if name in _ACCENTS:
            return f'<mover accent="true">{self._argument()}<mo>{_ACCENTS[name]}</mo></mover>'
        if name in ("text", "mathrm", "texttt"):
            end = self._tokens.index("}")
            words = "".join(self._tokens[1:end]).replace("\\_", "_")
            del self._tokens[:end + 1]
            return f"<mtext>{escape(words)}</mtext>"
        if name in ("left", "right"):
            return self._atom()
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"/>'
        return _one(_SYMBOLS[name])


def _one(symbol: str) -> str:
    tag = "mi" if symbol.isalpha() or symbol in "∂∞" else "mo"
    return f"<{tag}>{escape(symbol)}</{tag}>"
