"""ClusteringTreeDisplay: how clusters split from one clustering to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods.consensus import consensus
from ensclust._support.plain import counted
from ensclust._view.checks import (
    check_any,
    check_clusters,
    check_sweep,
    check_vector,
    result_of,
)
from ensclust._view.cluster_graph import majority
from ensclust._view.clustering_tree import clustering_tree
from ensclust._view.displays.axes import axes_for, label_ticks, length
from ensclust._view.palette import LINE, NEUTRAL, check_colors, colour

_LEGIBLE = 8.5  # minimum size in points of a node that contains its name


class ClusteringTreeDisplay:
    """How clusters split from one clustering to the next, across k or resolution.

    Each clustering is a row of nodes, one for each of its clusters; the area of a node
    is its number of objects. A line joins clusters of consecutive rows that share
    objects: the wider, the more objects, and the darker, the larger their share of the
    lower cluster. A cluster that splits has several lines below it, one that is
    reshuffled has several above. Make it with :meth:`from_ensemble`,
    :meth:`from_sweep` or :meth:`from_estimator`.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or path
        The clusterings, at most 100, in the order in which they are drawn.
    labels : array-like of shape (N,) or None
        A clustering, such as a consensus: a node has the colour of the cluster that
        most of its objects are in. None draws all nodes in one colour.
    names : list of str or None
        Names of the clusterings. By default the column names of a DataFrame, or
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
        Positions of the nodes.
    edges : ndarray of shape (e, 2)
        Clusters joined by a line, the upper and the lower.
    overlaps : ndarray of shape (e,)
        Number of objects that they share.
    shares : ndarray of shape (e,)
        Share of the lower cluster's objects that are in the upper one.
    ax_ : matplotlib Axes
        Axes with the tree.
    figure_ : matplotlib Figure
        Figure that contains it.

    Notes
    -----
    Clusters are ordered within their rows to reduce crossings, by the mean positions of
    their neighbours. Time N M^2 / 2, memory Nc^2 numbers.

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
        check_sweep(n)
        if names is None:
            names = list(map(str, range(n)))
        check_vector(names, "names", n, "name per clustering")
        self.names = list(map(str, names))
        self.clusters = (
            None
            if labels is None
            else majority(self.ensemble, check_clusters(labels, len(self.ensemble)))
        )
        tree = clustering_tree(self.ensemble)
        self.places, self.edges, self.overlaps, self.shares = tree

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
            As for the class. For AnnData: ``adata.obs[["leiden_0.5", "leiden_1"]]``
            and ``adata.obs["consensus"]``.
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        return cls(ensemble, labels, names=names).plot(ax, **kwargs)

    @classmethod
    def from_sweep(
        cls,
        ensemble: Any,
        k_range: Iterable[int] = range(2, 11),
        method: Any = "ecpcs-hc",
        labels: npt.ArrayLike | None = None,
        *,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> ClusteringTreeDisplay:
        """Draw the consensus of base clusterings for several numbers of clusters.

        Parameters
        ----------
        ensemble, method, random_state
            As in :func:`ensclust.consensus`.
        k_range : iterable of int, default=range(2, 11)
            Numbers of clusters, one row each.
        labels, ax, **kwargs
            As in :meth:`from_ensemble`; by default the last clustering gives the
            colours.
        """
        ks = list(k_range)
        check_sweep(len(ks))
        sweep = np.asarray(
            consensus(Ensemble(ensemble), ks, method, random_state=random_state)
        )
        colours = sweep[:, -1] if labels is None else labels
        names = [f"k = {k}" for k in ks]
        return cls(sweep, colours, names=names).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> ClusteringTreeDisplay:
        """Draw the base clusterings of a fitted estimator, fewest clusters first.

        Parameters
        ----------
        estimator : estimator
            Any fitted consensus method; its clusters give the colours.
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
        self,
        ax: Any = None,
        *,
        colors: Sequence | None = None,
        node_kw: dict | None = None,
    ) -> ClusteringTreeDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        colors : sequence of colours or None
            Colours of the clusters of ``labels``, such as
            ``adata.uns["consensus_colors"]``; None uses the palette of ensclust.
        node_kw : dict or None
            More options for the nodes, see ``ax.scatter``.

        Returns
        -------
        ClusteringTreeDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes_for(ax, "ClusteringTreeDisplay.plot")
        from matplotlib.collections import LineCollection  # noqa: PLC0415  optional

        n, sizes = self.ensemble.n_clusterings, self.ensemble.sizes
        widths = np.sqrt(self.overlaps / max(sizes.max(initial=1), 1))
        ax.add_collection(
            LineCollection(
                self.places[self.edges],
                colors=NEUTRAL,
                linewidths=0.5 + 4 * widths,
                alpha=np.clip(self.shares, 0.05, 1),
            )
        )
        areas = self._areas(ax)
        style = {
            "s": areas,
            "c": LINE if self.clusters is None else self._colours(colors),
            "edgecolors": "white",
            "linewidths": 0.4,
            "zorder": 2,
        }
        ax.scatter(*self.places.T, **{**style, **(node_kw or {})})
        self._name(ax, 2 * np.sqrt(areas / np.pi))
        # Above the first row and below the last one, room for a node and a few points.
        edge = min(0.5, (np.sqrt(areas.max() / np.pi) + 4) * n / length(ax, "y"))
        ax.set(xlim=(0, 1), ylim=(1 - n - edge, edge), xticks=[])
        label_ticks(ax, "y", -np.arange(n), self.names)
        ax.set_title(
            f"{counted(n, 'clustering')}, {len(sizes):,} clusters", fontsize="medium"
        )
        ax.spines[:].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _colours(self, colors: Sequence | None) -> list[str]:
        assert self.clusters is not None
        given = check_colors(colors, int(self.clusters.max()) + 1)
        return [colour(j, given) for j in self.clusters]

    def _areas(self, ax: Any) -> np.ndarray:
        """Return areas in square points: the largest cluster fills its row."""
        sizes = self.ensemble.sizes
        row = min(length(ax, "y") / self.ensemble.n_clusterings, length(ax, "x") / 8)
        return np.clip((0.8 * row) ** 2 * sizes / max(sizes.max(), 1), 4, None)

    def _name(self, ax: Any, diameters: np.ndarray) -> None:
        """Write the names of clusters into the nodes that are large enough."""
        from matplotlib.patheffects import withStroke  # noqa: PLC0415  optional

        values = [str(value) for own in self.ensemble.categories for value in own]
        halo = [withStroke(linewidth=1.5, foreground="white")]
        for place, value, across in zip(self.places, values, diameters, strict=True):
            if across >= _LEGIBLE:
                size = min(9.0, max(5.0, across / (0.65 * max(len(value), 2))))
                ax.text(*place, value, ha="center", va="center", fontsize=size,
                        path_effects=halo, clip_on=True)  # fmt: skip
