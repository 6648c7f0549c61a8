"""What the labs share: controls, a list of states worth trying, and a picture that follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets

from autograder.labs.figures import Picture

YOUR_OWN = "your own"


class NoPicture(ValueError):
    """What the controls say has no picture; the text says why, and stands in its place."""


class Panel(widgets.VBox):
    """Choosing a known state sets every control; moving a control leaves the list and redraws the picture.

    A lab says what its controls mean: `read` makes a state of them, `write` sets them to one, `draw` is the picture.
    """

    def __init__(self, states: Mapping[str, Any], state: Any, rows: Sequence[Sequence[widgets.Widget]],
                 name: str = "start from", **options: Any) -> None:
        """rows: the controls from top to bottom; the list, called `name`, comes first in the first row."""
        self._states = dict(states)
        self._presets = widgets.Dropdown(options=[YOUR_OWN, *states], description=name, **options)
        self._view = widgets.HTML()
        self._quiet = False  # while several controls change together
        self._rows = [widgets.HBox(row) for row in ([self._presets, *rows[0]], *rows[1:])]
        super().__init__([*self._rows, self._view])
        self.state = state
        self._presets.observe(self._chosen, "value")
        for control in _controls(rows):
            control.observe(self._moved, "value")

    @property
    def state(self) -> Any:
        """What the controls say."""
        return self.read()

    @state.setter
    def state(self, state: Any) -> None:
        self._quiet = True
        try:
            self.write(state)
        finally:
            self._quiet = False
        self._show()

    def read(self) -> Any:
        """What the controls say; NoPicture when they say nothing."""
        raise NotImplementedError

    def write(self, state: Any) -> None:
        """Set the controls to `state`."""
        raise NotImplementedError

    def draw(self, state: Any) -> Picture:
        """The picture of `state`; NoPicture when it has none."""
        raise NotImplementedError

    def called(self, state: Any) -> str:
        """The name under which the list has `state`."""
        return next((name for name, known in self._states.items() if known == state), YOUR_OWN)

    def known(self, name: str) -> Any:
        """The state that choosing `name` leads to."""
        return self._states[name]

    def _chosen(self, change: dict) -> None:
        if not self._quiet and change["new"] in self._states:
            self.state = self.known(change["new"])

    def _moved(self, _: dict) -> None:
        if not self._quiet:
            self._show()

    def _show(self) -> None:
        try:
            state = self.read()
            self._name(self.called(state))
            self._view.value = self.draw(state)._repr_html_()
        except NoPicture as reason:
            self._view.value = f"<p><b>{reason}</b></p>"

    def _name(self, name: str) -> None:
        self._quiet = True
        try:
            self._presets.value = name
        finally:
            self._quiet = False


def _controls(rows: Sequence[Any]) -> list[widgets.Widget]:
    """The controls in these rows, also those in boxes."""
    found = []
    for entry in rows:
        children = entry if isinstance(entry, list | tuple) else getattr(entry, "children", None)
        if children is not None:
            found += _controls(children)
        elif entry.has_trait("value"):
            found.append(entry)
    return found
