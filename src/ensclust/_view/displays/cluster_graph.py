"""ClusterGraphDisplay: the base clusters as a graph, coloured by meta-cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust import similarity as similarity_
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.plain import counted
from ensclust._support.validation import check_square
from ensclust._view.checks import check_any, check_clusters, check_limit, result_of
from ensclust._view.cluster_graph import cluster_graph, majority
from ensclust._view.displays.axes import axes_for, length
from ensclust._view.palette import NEUTRAL, check_colors, colour

MAX_NODES = 600


class ClusterGraphDisplay:
    """The base clusters as a graph, in which similar ones are close.

    A node is a cluster of one base clustering: its area is the number of objects in it,
    its colour the meta-cluster that it votes for. Make it with :meth:`from_estimator`
    or :meth:`from_ensemble`.

    Parameters
    ----------
    similarity : ndarray of shape (n, n)
        Similarity of the nodes.
    sizes : ndarray of shape (n,)
        Number of objects of each node.
    meta_labels : ndarray of shape (n,)
        Meta-cluster of each node, -1 for none.
    max_nodes : int, default=600
        If there are more base clusters, the largest are shown.

    Attributes
    ----------
    nodes : ndarray of shape (s,)
        The base clusters that are shown, ascending.
    places : ndarray of shape (s, 2)
        Their positions.
    edges : ndarray of shape (e, 2)
        Base clusters joined by a line: each with the three that are most similar, and
        the trees of the largest similarities that connect each meta-cluster and, if
        base clusters share objects, the whole graph.
    ax_ : matplotlib Axes
        Axes with the graph.
    figure_ : matplotlib Figure
        Figure that contains it.

    Notes
    -----
    The layout models springs along the edges and is deterministic. Time 100 s^2, memory
    a few s^2 numbers for s nodes shown, whatever the number of objects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSMC, ClusterGraphDisplay
    >>> model = ECPCSMC(3, random_state=0).fit(load_iris().data)
    >>> display = ClusterGraphDisplay.from_estimator(model)
    >>> len(display.nodes) == model.ensemble_.n_base_clusters
    True
    """

    def __init__(
        self,
        similarity: npt.ArrayLike,
        sizes: np.ndarray,
        meta_labels: np.ndarray,
        *,
        max_nodes: int = MAX_NODES,
    ):
        self.similarity = check_square(similarity, "similarity")
        self.sizes = np.asarray(sizes)
        self.meta_labels = np.asarray(meta_labels)
        n_nodes = len(self.similarity)
        for name, values in (("sizes", self.sizes), ("meta_labels", self.meta_labels)):
            if values.shape != (n_nodes,) or values.dtype.kind not in "iu":
                msg = (
                    f"{name} has shape {values.shape} and type {values.dtype}; "
                    f"expected an integer for each of the {n_nodes} nodes of "
                    "similarity."
                )
                raise ValueError(msg)
        self.nodes, self.places, edges = cluster_graph(
            self.similarity,
            self.sizes,
            self.meta_labels,
            check_limit(max_nodes, "max_nodes", 3000),
        )
        self.edges = self.nodes[edges]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        max_nodes: int = MAX_NODES,
        ax: Any = None,
        **kwargs: Any,
    ) -> ClusterGraphDisplay:
        """Draw the base clusters of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Any fitted consensus method. :class:`ensclust.ECPCSMC` and
            :class:`ensclust.MCLA` show the graph that they partition; the others are
            drawn as by :meth:`from_ensemble`.
        max_nodes : int, default=600
            If there are more base clusters, the largest are shown.
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        result = result_of(estimator)
        ensemble = result.weighted()
        similarity, meta = result.cluster_similarity, result.meta_labels
        if similarity is None or meta is None:
            return cls.from_ensemble(
                ensemble, result.labels, max_nodes=max_nodes, ax=ax, **kwargs
            )
        return cls(similarity, ensemble.sizes, meta, max_nodes=max_nodes).plot(
            ax, **kwargs
        )

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        labels: npt.ArrayLike | None = None,
        *,
        max_nodes: int = MAX_NODES,
        ax: Any = None,
        **kwargs: Any,
    ) -> ClusterGraphDisplay:
        """Draw base clusters; those with a large Jaccard coefficient are close.

        Parameters
        ----------
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings. Time N M^2 / 2 for counting, memory Nc^2 numbers.
        labels : array-like of shape (N,) or None
            A clustering: a base cluster has the colour of the cluster that most of its
            objects are in. None uses one colour for all.
        max_nodes, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        ensemble = Ensemble(ensemble)
        check_any(~ensemble.absent())
        meta = (
            np.full(ensemble.n_base_clusters, -1)
            if labels is None
            else majority(ensemble, check_clusters(labels, len(ensemble)))
        )
        return cls(
            similarity_.jaccard(ensemble), ensemble.sizes, meta, max_nodes=max_nodes
        ).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        colors: Sequence | None = None,
        node_kw: dict | None = None,
    ) -> ClusterGraphDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        colors : sequence of colours or None
            Colours of the meta-clusters; None uses the palette of ensclust.
        node_kw : dict or None
            More options for the nodes, see ``ax.scatter``.

        Returns
        -------
        ClusterGraphDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        given = check_colors(colors, int(self.meta_labels.max(initial=-1)) + 1)
        ax = axes_for(ax, "ClusterGraphDisplay.plot")
        from matplotlib.collections import LineCollection  # noqa: PLC0415  optional

        ax.add_collection(
            LineCollection(
                self.places[np.searchsorted(self.nodes, self.edges)],
                colors=NEUTRAL,
                linewidths=0.5,
                alpha=0.4,
            )
        )
        meta = self.meta_labels[self.nodes]
        style = {
            "s": self._areas(ax),
            "c": [colour(j, given) for j in meta],
            "edgecolors": "white",
            "linewidths": 0.4,
            "zorder": 2,
        }
        ax.scatter(*self.places.T, **{**style, **(node_kw or {})})
        self._number(ax, meta)
        ax.set_title(self._title(), fontsize="medium")
        ax.set_axis_off()
        ax.set_aspect("equal")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _areas(self, ax: Any) -> np.ndarray:
        """Return areas in square points that cover a fifth of the axes together."""
        sizes = self.sizes[self.nodes].astype(float)
        square = min(length(ax, "x"), length(ax, "y")) ** 2
        return np.clip(0.2 * square * sizes / max(sizes.sum(), 1), 3, square / 100)

    def _number(self, ax: Any, meta: np.ndarray) -> None:
        """Write the number of each meta-cluster at its central node."""
        from matplotlib.patheffects import withStroke  # noqa: PLC0415  optional

        found = np.unique(meta[meta >= 0])
        style: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "weight": "bold",
            "color": "black",
            "fontsize": 10 if len(found) <= 20 else 7,
            "path_effects": [withStroke(linewidth=2, foreground="white")],
        }
        for j in found:
            own = self.places[meta == j]
            middle = own[((own - np.median(own, axis=0)) ** 2).sum(axis=1).argmin()]
            ax.text(*middle, str(j), **style)

    def _title(self) -> str:
        n, n_shown = int((self.sizes > 0).sum()), len(self.nodes)
        n_meta = len(np.unique(self.meta_labels[self.meta_labels >= 0]))
        groups = f" in {counted(n_meta, 'meta-cluster')}" if n_meta else ""
        part = f", the {n_shown:,} largest shown" if n_shown < n else ""
        return f"{n:,} base clusters{groups}{part}"
