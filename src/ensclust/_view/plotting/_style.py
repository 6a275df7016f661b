"""What the displays share: axes to draw on, colours of clusters, labels that fit."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ensclust._methods.base import BaseConsensus
from ensclust._support.validation import import_optional

if TYPE_CHECKING:
    from collections.abc import Sequence

# Paul Tol's "bright" and "muted" schemes, distinct for colour-blind readers.
_BRIGHT = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_MUTED = (
    *("#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee"),
    *("#882255", "#44aa99", "#999933", "#aa4499"),
)
LINE, MARK = _BRIGHT[:2]
NEUTRAL = "#888888"  # seen on white and on black
_SIZES = (10, 9, 8, 7, 6, 5)  # of text in points


def axes(ax: Any, what: str) -> Any:
    """Return the axes to draw on: the given ones, or those of a new figure."""
    pyplot = import_optional("matplotlib.pyplot", what, "plot")
    if ax is None:
        return pyplot.subplots(layout="constrained")[1]
    if not isinstance(ax, pyplot.Axes):
        msg = (
            f"ax is of type {type(ax).__name__}; expected a matplotlib Axes, or None "
            "for a new figure."
        )
        raise TypeError(msg)
    return ax


def check_consensus(estimator: Any) -> None:
    """Raise unless this is a consensus method after fit."""
    if not isinstance(estimator, BaseConsensus):
        msg = (
            f"estimator is of type {type(estimator).__name__}; expected a consensus "
            "method of ensclust, such as ECPCSMC, after fit."
        )
        raise TypeError(msg)
    check_is_fitted(estimator, "labels_")


def check_kind(value: Any, name: str, kind: type) -> None:
    """Raise unless ``value`` is what is drawn."""
    if not isinstance(value, kind):
        msg = f"{name} is of type {type(value).__name__}; expected {kind.__name__}."
        raise TypeError(msg)


def check_any(is_clustered: np.ndarray) -> None:
    """Raise where no object has a cluster."""
    if not is_clustered.any():
        msg = (
            f"none of the {len(is_clustered):,} objects has a cluster, so there is "
            "nothing to draw. Give base clusterings that contain some of them."
        )
        raise ValueError(msg)


def check_limit(value: Any, name: str, most: int) -> int:
    """Return a limit as an int between 1 and ``most``, or raise."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and 1 <= value <= most:
        return int(value)
    msg = (
        f"{name}={value!r}; expected an integer from 1 to {most:,}. No screen shows "
        "more."
    )
    raise ValueError(msg)


def cluster_colours(n_clusters: int) -> list[tuple[float, ...]]:
    """Return a colour for each cluster, RGB.

    Up to nine are told apart without numbers beside them; after 27 colours repeat.
    """
    from matplotlib.colors import to_rgb  # noqa: PLC0415  optional

    scheme = _BRIGHT if n_clusters <= len(_BRIGHT) else _MUTED
    plain = np.array([to_rgb(name) for name in scheme])
    shades = np.concatenate([plain, 0.6 * plain, 0.5 + 0.5 * plain])
    return [tuple(shades[j % len(shades)].tolist()) for j in range(n_clusters)]


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
    if turned:
        needed = 1.1
    size = next((s for s in _SIZES if (gaps >= s * needed).all()), _SIZES[-1])
    shown: list[int] = []
    for i, place in enumerate(places):
        if not shown or (place - places[shown[-1]]) * points >= 1.1 * size:
            shown.append(i)
    getattr(ax, f"set_{axis}ticks")(places[shown], [words[i] for i in shown])
    ax.tick_params(axis, labelsize=size, length=0, labelrotation=90 * turned)
