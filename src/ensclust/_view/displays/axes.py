"""What the displays share: axes to draw on, and labels that fit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensclust._support.validation import import_optional
from ensclust._view.checks import check_kind

_SIZES = (10, 9, 8, 7, 6, 5)  # of text in points


def axes_for(ax: Any, what: str) -> Any:
    """Return the axes to draw on: the given ones, or those of a new figure."""
    pyplot = import_optional("matplotlib.pyplot", what, "plot")
    if ax is None:
        return pyplot.subplots(layout="constrained")[1]
    check_kind(ax, "ax", pyplot.Axes, "a matplotlib Axes, or None for a new figure")
    return ax


def length(ax: Any, axis: str) -> float:
    """Return how long an axis is, in points."""
    box = ax.get_window_extent()
    return (box.width if axis == "x" else box.height) * 72 / ax.figure.dpi


def label_ticks(ax: Any, axis: str, places: np.ndarray, names: Sequence[str]) -> None:
    """Write names along an axis as large as there is room for, or not all of them.

    The limits of the axis are set before.
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
