"""Pictures of lesson 2: by what factor an update is off, and where training ends when it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from autograder.labs import figures
from autograder.labs.figures import BLUE, FAINT, GREEN, INK, TAUPE, VERMILLION

# How a series looks in `paths`: what lies over what is drawn thin over thick, so that both are seen.
_LOOKS = (
    {"color": VERMILLION, "linewidth": 5.5, "alpha": 0.55},
    {"color": BLUE, "linewidth": 2.6},
    {"color": TAUPE, "linewidth": 1.6, "linestyle": (0, (4, 2))},
    {"color": GREEN, "linewidth": 2.0, "linestyle": (0, (1, 1.2))},
)


def factor_picture(factors: Mapping[str, float], title: str, words: str) -> figures.Picture:
    """Draw the factor c in u = c ∇L for several steps, on an axis of doublings; right is 1."""
    places = [2.0**k for k in range(-4, 5)]
    names = [figures.fraction(place) for place in places]
    with figures.style():
        figure = figures.new_figure(8.2, 1.25 + 0.42 * len(factors))
        axes = figure.add_subplot()
        for row, factor in enumerate(factors.values()):
            colour = figures.weight_colour(factor, 1.0)
            axes.plot([1.0, factor], [row, row], color=colour, linewidth=5, solid_capstyle="butt")
            axes.plot([factor], [row], "o", color=colour, ms=11)
            side = -1 if factor < 1 else 1
            axes.annotate(figures.fraction(factor), (factor, row), (11 * side, 0), textcoords="offset points",
                          ha="right" if side < 0 else "left", va="center", fontweight="bold")
        axes.axvline(1.0, color=INK, linewidth=1.3, linestyle=(0, (4, 3)), zorder=0)
        axes.set_xscale("log", base=2)
        axes.set_xlim(places[0], places[-1])
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_major_formatter(FixedFormatter(names))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_yticks(range(len(factors)), factors)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(factors) - 0.5, -0.5)
        axes.set_xlabel("factor c in u = c ∇L (1); every step to the right doubles it")
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0, 1, 1.03))
    return figures.Picture(figure, words)


def paths(
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    minimum: float,
    elsewhere: float,
    title: str,
    words: str,
) -> figures.Picture:
    """Draw a parameter over the steps of training, one panel for each way of stepping.

    panels: optimizer -> name of the gradient it was fed -> the parameter after 0, 1, … steps; up to four gradients,
    the same in every panel. minimum: where the objective has its minimum; elsewhere: where the other one has its own.
    """
    with figures.style():
        figure = figures.new_figure(10.4, 3.9)
        grid = figure.subplots(1, len(panels), sharey=True)
        for axes, (name, series) in zip(grid, panels.items(), strict=True):
            steps = max(len(path) for path in series.values()) - 1
            axes.axhline(minimum, color=FAINT, linewidth=1)
            axes.axhline(elsewhere, color=FAINT, linewidth=1, linestyle=(0, (2, 2)))
            for look, (label, path) in zip(_LOOKS, series.items(), strict=False):
                axes.plot(range(len(path)), path, label=label, **look)
            axes.set_title(name)
            axes.set_xlim(0, steps)
            axes.set_ylim(6.6, 10.2)
            axes.set_xlabel("step")
        grid[0].set_ylabel("parameter w (units of the targets)")
        grid[0].set_yticks([7, minimum, elsewhere, 9, 10])
        figure.legend(*grid[0].get_legend_handles_labels(), loc="lower center", ncols=4, handlelength=3.2)
        figures.headline(figure, title)
        figure.tight_layout(rect=(0, 0.07, 1, 1.02))
    return figures.Picture(figure, words)
