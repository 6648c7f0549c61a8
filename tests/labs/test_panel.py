"""What all labs share: the list sets every control, a control leaves the list, and one move is one picture."""

import ipywidgets as widgets
import pytest

from autograder.labs.figures import Picture
from autograder.labs.panel import YOUR_OWN, NoPicture, Panel
from autograder.labs.sheet import Sheet

STATES = {"small": (1, 2), "large": (8, 9)}


class Pair(Panel):
    def __init__(self, state=STATES["small"]):
        self.drawn = []
        self.one, self.two = (widgets.IntSlider(min=0, max=10) for _ in range(2))
        super().__init__(STATES, state, [[self.one], [widgets.VBox([self.two])]])

    def read(self):
        return self.one.value, self.two.value

    def write(self, state):
        self.one.value, self.two.value = state

    def draw(self, state):
        self.drawn.append(state)
        if not sum(state):
            raise NoPicture("nothing to see")
        return Picture(Sheet(10, 10), f"the pair {state}")


@pytest.fixture
def pair():
    return Pair()


def test_it_starts_with_its_state_named_and_drawn_once(pair):
    assert pair.state == (1, 2) and pair._presets.value == "small"
    assert pair.drawn == [(1, 2)] and "the pair (1, 2)" in pair._view.value


def test_a_move_draws_once_wherever_the_control_stands_and_leaves_the_list(pair):
    pair.one.value = 5
    pair.two.value = 6
    assert pair.drawn[1:] == [(5, 2), (5, 6)]
    assert pair._presets.value == YOUR_OWN and "the pair (5, 6)" in pair._view.value


def test_choosing_sets_every_control_and_draws_once(pair):
    pair._presets.value = "large"
    assert pair.state == (8, 9) and pair.drawn[1:] == [(8, 9)]


def test_moving_to_a_known_state_names_it_and_draws_once(pair):
    pair._presets.value = "large"
    pair.one.value = 1
    pair.two.value = 2
    assert pair._presets.value == "small" and pair.drawn[1:] == [(8, 9), (1, 9), (1, 2)]


def test_a_state_from_outside_draws_once(pair):
    pair.state = (3, 4)
    assert pair.read() == (3, 4) and pair.drawn[1:] == [(3, 4)]


def test_why_there_is_no_picture_stands_in_its_place_until_there_is_one(pair):
    pair.state = (0, 0)
    assert pair._view.value == "<p><b>nothing to see</b></p>"
    pair.one.value = 1
    assert "the pair (1, 0)" in pair._view.value
