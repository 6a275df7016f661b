"""ClusteringTreeDisplay: how clusters split from one clustering to the next."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.agreement import spans
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.plain import counted
from ensclust._support.validation import check_labelling
from ensclust._view.checks import check_any, check_vector, result_of
from ensclust._view.cluster_graph import majority
from ensclust._view.displays.axes import axes_for, label_ticks, length
from ensclust._view.palette import LINE, NEUTRAL, colour

_MOST = 100  # clusterings, one below the other
_SWEEPS = 8  # down and up, to have few crossings
_NAMED = 200  # clusters that have their names written into them


class ClusteringTreeDisplay:
    """How clusters split from one clustering to the next, such as Leiden's resolutions.

    Each clustering is a row of nodes, its clusters; their areas are the numbers of
    objects. A line joins clusters of rows that follow each other where they share
    objects; it is the darker, the larger the share of the lower cluster's objects. A
    cluster that splits has several lines below, one that is mixed anew has several
    above. Make it with :meth:`from_ensemble` or :meth:`from_estimator`.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or path
        The clusterings, at most 100, in the order in which they are drawn.
    labels : array-like of shape (N,) or None
        A clustering, such as a consensus: a node has the colour of the cluster that
        most of its objects are in. None is one colour.
    names : list of str or None
        Names of the clusterings; None is those of the columns of a DataFrame, or
        numbers.

    Attributes
    ----------
    ensemble : Ensemble
        The clusterings.
    names : list of str
        Their names.
    clusters : ndarray of shape (Nc,) or None
        The cluster of ``labels`` that most objects of each node are in.
    places : ndarray of shape (Nc, 2)
        Where the nodes are.
    edges : ndarray of shape (e, 2)
        Clusters joined by a line, the upper and the lower.
    shares : ndarray of shape (e,)
        Share of the lower cluster's objects that are in the upper one.
    ax_ : matplotlib Axes
        Axes with the tree.
    figure_ : matplotlib Figure
        Figure that contains it.

    Notes
    -----
    Clusters are ordered within their rows so that lines cross little, by the mean
    places of their neighbours. Time N M^2 / 2, memory Nc^2 numbers.

    References
    ----------
    L. Zappia, A. Oshlack. Clustering trees: a visualization for evaluating clusterings
    at multiple resolutions. GigaScience 7, 2018. doi:10.1093/gigascience/giy083

    Examples
    --------
    >>> from ensclust import ClusteringTreeDisplay
    >>> runs = [[0, 0, 0], [0, 0, 1], [0, 1, 2], [0, 1, 2]]
    >>> display = ClusteringTreeDisplay.from_ensemble(runs, names=["0.1", "0.5", "1"])
    >>> display.edges.tolist()
    [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5]]
    >>> display.shares.tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        ensemble: Any,
        labels: npt.ArrayLike | None = None,
        *,
        names: Any = None,
    ):
        if names is None and hasattr(ensemble, "iloc"):
            names = list(map(str, ensemble.columns))
        self.ensemble = Ensemble(ensemble)
        n = self.ensemble.n_clusterings
        check_any(~self.ensemble.absent())
        if n > _MOST:
            msg = (
                f"there are {n:,} clusterings; no screen shows more than {_MOST}. "
                "Choose some of them."
            )
            raise ValueError(msg)
        if names is None:
            names = list(map(str, range(n)))
        check_vector(names, "names", n, "name per clustering")
        self.names = list(map(str, names))
        self.clusters = (
            None
            if labels is None
            else majority(self.ensemble, check_labelling(labels, len(self.ensemble)))
        )
        shared = self.ensemble.intersections()
        edges, shares = [], []
        for upper, lower in pairwise(spans(self.ensemble)):
            counts = shared[slice(*upper), slice(*lower)]
            joined = np.argwhere(counts)
            edges.append(np.add(joined, [upper[0], lower[0]]))
            shares.append((counts / np.maximum(counts.sum(axis=0), 1))[*joined.T])
        self.edges = np.concatenate([np.empty((0, 2), int), *edges])
        self.shares = np.concatenate([np.empty(0), *shares])
        self.places = self._layout(shared)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        labels: npt.ArrayLike | None = None,
        *,
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ClusteringTreeDisplay:
        """Draw clusterings below each other, in their order.

        Parameters
        ----------
        ensemble, labels, names
            As in the class. For AnnData: ``adata.obs[["leiden_0.5", "leiden_1"]]``.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        **kwargs
            Handed to :meth:`plot`.
        """
        return cls(ensemble, labels, names=names).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> ClusteringTreeDisplay:
        """Draw the base clusterings of a fitted estimator, those of few clusters first.

        Parameters
        ----------
        estimator : estimator
            Any consensus method after ``fit``; its clusters are the colours.
        ax, **kwargs
            As in :meth:`from_ensemble`.
        """
        result = result_of(estimator)
        order = np.argsort(result.ensemble.cluster_counts, kind="stable")
        names = [str(m) for m in order]
        if result.names is not None:
            names = [str(result.names[m]) for m in order]
        ensemble = result.ensemble.select(order)
        return cls(ensemble, result.labels, names=names).plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, *, node_kw: dict | None = None
    ) -> ClusteringTreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        node_kw : dict or None
            More for the nodes, ``ax.scatter``.

        Returns
        -------
        ClusteringTreeDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes_for(ax, "ClusteringTreeDisplay.plot")
        from matplotlib.collections import LineCollection  # noqa: PLC0415  optional

        ax.add_collection(
            LineCollection(
                self.places[self.edges],
                colors=NEUTRAL,
                linewidths=0.5 + 2 * self.shares,
                alpha=np.clip(self.shares, 0.05, 1),
            )
        )
        n = self.ensemble.n_clusterings
        sizes = self.ensemble.sizes
        row = min(length(ax, "y") / n, length(ax, "x") / 10)
        style = {
            "s": np.clip((0.8 * row) ** 2 * sizes / max(sizes.max(), 1), 4, None),
            "c": LINE if self.clusters is None else [colour(j) for j in self.clusters],
            "edgecolors": "white",
            "linewidths": 0.4,
            "zorder": 2,
        }
        ax.scatter(*self.places.T, **{**style, **(node_kw or {})})
        self._name(ax)
        ax.set(xlim=(0, 1), ylim=(0.5 - n, 0.5), xticks=[])
        label_ticks(ax, "y", -np.arange(n), self.names)
        ax.set_title(
            f"{counted(n, 'clustering')}, {len(sizes):,} clusters", fontsize="medium"
        )
        ax.spines[:].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _layout(self, shared: np.ndarray) -> np.ndarray:
        """Return places: a row per clustering, ordered so that lines cross little."""
        rows = list(spans(self.ensemble))
        x = np.concatenate([_spread(np.arange(stop - start)) for start, stop in rows])
        down = list(pairwise(rows))
        up = [(row, above) for above, row in reversed(down)]
        for _ in range(_SWEEPS):
            for fixed, moved in down + up:
                weights = shared[slice(*moved), slice(*fixed)]
                total = weights.sum(axis=1)
                mean = weights @ x[slice(*fixed)] / np.maximum(total, 1)
                x[slice(*moved)] = _spread(np.where(total > 0, mean, x[slice(*moved)]))
        y = np.repeat(-np.arange(len(rows)), self.ensemble.cluster_counts)
        return np.column_stack([x, y])

    def _name(self, ax: Any) -> None:
        """Write the names of clusters into their nodes, if they can be read."""
        if len(self.places) > _NAMED:
            return
        from matplotlib.patheffects import withStroke  # noqa: PLC0415  optional

        values = [value for own in self.ensemble.categories for value in own]
        halo = [withStroke(linewidth=1.5, foreground="white")]
        for place, value in zip(self.places, values, strict=True):
            ax.text(*place, str(value), ha="center", va="center", fontsize=7,
                    path_effects=halo)  # fmt: skip


def _spread(keys: np.ndarray) -> np.ndarray:
    """Return places between 0 and 1, evenly apart, in the order of the keys."""
    rank = np.argsort(np.argsort(keys, kind="stable"), kind="stable")
    return (rank + 0.5) / max(len(keys), 1)
