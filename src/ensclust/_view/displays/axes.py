"""Axes to draw on, and labels that fit, for all displays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensclust._support.validation import import_optional
from ensclust._view.checks import check_kind

_SIZES = (10, 9, 8, 7, 6, 5)  # of text in points


def axes_for(ax: Any, what: str, size: tuple[float, float] | None = None) -> Any:
    """Return the axes to draw on: the given ones, or those of a new figure.

    ``size`` is that of the figure in inches; None means matplotlib's default.
    """
    pyplot = import_optional("matplotlib.pyplot", what, "plot")
    if ax is None:
        return pyplot.subplots(figsize=size, layout="constrained")[1]
    check_kind(ax, "ax", pyplot.Axes, "a matplotlib Axes, or None for a new figure")
    return ax


def panels_in(
    ax: Any, n_rows: int, n_columns: int, heights: Sequence[float] | None = None
) -> list:
    """Return a grid of axes that replaces the given ones, row by row."""
    figure, spec = ax.figure, ax.get_subplotspec()
    if spec is None:  # axes that were put anywhere
        box = ax.get_position()
        spec = figure.add_gridspec(
            1, 1, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1
        )[0]
    ax.set_axis_off()
    # A layout engine makes room for labels; without one the gaps must.
    gap = 0.6 if figure.get_layout_engine() is None else 0.05
    grid = spec.subgridspec(
        n_rows, n_columns, hspace=gap, wspace=gap, height_ratios=heights
    )
    current = figure.gca()
    panels = [figure.add_subplot(part) for part in grid]
    figure.sca(current)
    return panels


def length(ax: Any, axis: str) -> float:
    """Return how long an axis is, in points."""
    box = ax.get_window_extent()
    return (box.width if axis == "x" else box.height) * 72 / ax.figure.dpi


def label_ticks(ax: Any, axis: str, places: np.ndarray, names: Sequence[str]) -> None:
    """Write names along an axis as large as fits, or only some of them.

    The limits of the axis must be set before.
    """
    low, high = ax.get_xlim() if axis == "x" else ax.get_ylim()
    points = length(ax, axis) / abs(high - low)  # for a unit of data
    order = np.argsort(places, kind="stable")
    places, words = np.asarray(places)[order], [names[i] for i in order]
    gaps = np.diff(places) * points
    # Room for text of 1 point: half of both neighbours' letters, and a blank.
    letters = np.array([len(word) for word in words])
    needed = 0.65 * (letters[:-1] + letters[1:]) / 2 + 0.4 if axis == "x" else 1.1
    turned = axis == "x" and not (gaps >= 6 * needed).all()
    room = 1.1 if turned else needed
    size = next((s for s in _SIZES if (gaps >= s * room).all()), _SIZES[-1])
    shown: list[int] = []
    for i, place in enumerate(places):
        if not shown or (place - places[shown[-1]]) * points >= 1.1 * size:
            shown.append(i)
    getattr(ax, f"set_{axis}ticks")(places[shown], [words[i] for i in shown])
    ax.tick_params(axis, labelsize=size, length=0, labelrotation=90 * turned)
