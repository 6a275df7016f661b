"""DendrogramDisplay: the top of the tree, coloured by a cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods import make
from ensclust._support.validation import check_n_clusters
from ensclust._trees.dendrogram import Dendrogram
from ensclust._view.checks import check_any, check_kind, check_limit, result_of
from ensclust._view.displays.axes import axes_for, label_ticks
from ensclust._view.palette import LINE, NEUTRAL, check_colors, colour
from ensclust._view.tree_top import node_places, tree_top

MAX_LEAVES = 50


class DendrogramDisplay:
    """The top of a dendrogram, its branches coloured by the clusters of a cut.

    Long branches below the line are clusters that stay separate over a wide range of
    similarities. Make it with :meth:`from_estimator`, :meth:`from_ensemble` or
    :meth:`from_dendrogram`.

    Parameters
    ----------
    dendrogram : Dendrogram
        The tree to draw, of few leaves, each a group of objects.
    n_clusters : int or None
        Clusters of the cut; None draws no cut.

    Attributes
    ----------
    sizes : ndarray of shape (L,)
        Objects of each leaf.
    labels : ndarray of shape (L,)
        Cluster of each leaf, numbered as by ``dendrogram.cut``; all 0 without a cut.
    cut_height : float or None
        Height between the last merge that is kept and the first that is undone.
    ax_ : matplotlib Axes
        Axes with the tree.
    figure_ : matplotlib Figure
        Figure that contains it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSHC, DendrogramDisplay
    >>> model = ECPCSHC(3, random_state=0).fit(load_iris().data)
    >>> display = DendrogramDisplay.from_estimator(model, max_leaves=12)
    >>> int(display.sizes.sum())
    150
    """

    def __init__(self, dendrogram: Dendrogram, n_clusters: int | None = None):
        self.dendrogram = dendrogram
        self.n_clusters = n_clusters
        leaf = dendrogram.leaf_of_object
        self.sizes = np.bincount(leaf, minlength=dendrogram.n_leaves)
        self.labels = np.empty(dendrogram.n_leaves, np.int64)
        self.labels[leaf] = dendrogram.cut(n_clusters or 1)
        self.cut_height = _cut_height(dendrogram, n_clusters)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_clusters: int | None = None,
        max_leaves: int = MAX_LEAVES,
        ax: Any = None,
        **kwargs: Any,
    ) -> DendrogramDisplay:
        """Draw the tree of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted method with a dendrogram, such as :class:`ensclust.ECPCSHC`.
        n_clusters : int or None
            Clusters of the cut; None uses that of the estimator.
        max_leaves : int, default=50
            Groups shown, and at least one for each cluster.
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        tree, own_k = _tree_of(estimator)
        k = own_k if n_clusters is None else n_clusters
        return cls.from_dendrogram(tree, k, max_leaves=max_leaves, ax=ax, **kwargs)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        n_clusters: int | None = None,
        *,
        method: str = "ecpcs-hc",
        max_leaves: int = MAX_LEAVES,
        ax: Any = None,
        **kwargs: Any,
    ) -> DendrogramDisplay:
        """Link the objects of base clusterings, and draw the tree.

        Parameters
        ----------
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings.
        n_clusters : int or None
            Clusters of the cut that is coloured; None draws no cut.
        method : "ecpcs-hc", "eac", "wct" or "srs", default="ecpcs-hc"
            Method that builds the tree, at the cost of its ``fit``.
        max_leaves, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        model = make(method, n_clusters=1, base="precomputed")
        return cls.from_dendrogram(
            _tree_of(model.fit(Ensemble(ensemble)))[0],
            n_clusters,
            max_leaves=max_leaves,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_dendrogram(
        cls,
        dendrogram: Dendrogram,
        n_clusters: int | None = None,
        *,
        max_leaves: int = MAX_LEAVES,
        ax: Any = None,
        **kwargs: Any,
    ) -> DendrogramDisplay:
        """Draw a tree of any size.

        Parameters
        ----------
        dendrogram : Dendrogram
            The tree; time is linear in its leaves and objects.
        n_clusters : int or None
            Clusters of the cut that is coloured; None draws no cut.
        max_leaves, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        check_kind(dendrogram, "dendrogram", Dendrogram)
        least = check_n_clusters(
            1 if n_clusters is None else n_clusters, dendrogram.n_objects
        )
        n_groups = max(check_limit(max_leaves, "max_leaves", 1000), least)
        return cls(tree_top(dendrogram, n_groups), n_clusters).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        colors: Sequence | None = None,
        line_kw: dict | None = None,
    ) -> DendrogramDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        colors : sequence of colours or None
            Colours of the clusters; None uses the palette of ensclust.
        line_kw : dict or None
            More options for the branches, a matplotlib LineCollection.

        Returns
        -------
        DendrogramDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        given = check_colors(colors, int(self.labels.max()) + 1)
        ax = axes_for(ax, "DendrogramDisplay.plot")
        from matplotlib.collections import LineCollection, PolyCollection  # noqa: PLC0415

        tree, n = self.dendrogram, self.dendrogram.n_leaves
        x, y = node_places(tree), np.concatenate([tree.leaf_heights, tree.heights])
        colours = self._colours(given)
        lines, shades = [], []
        for node, (a, b) in enumerate(tree.merges, start=n):
            lines += [[(x[i], y[i]), (x[i], y[node])] for i in (a, b)]
            lines.append([(x[a], y[node]), (x[b], y[node])])
            shades += [colours[a], colours[b], colours[node]]
        style = {"colors": shades, "linewidths": 1.2, "capstyle": "round"}
        ax.add_collection(LineCollection(lines, **{**style, **(line_kw or {})}))
        # Merges below a leaf are a wedge that reaches down to 0.
        outline = np.array([(-0.06, 1), (0.06, 1), (0.3, 0), (-0.3, 0)])
        wedges = [outline * (1, y[i]) + (x[i], 0) for i in range(n)]
        ax.add_collection(PolyCollection(wedges, facecolors=colours[:n], alpha=0.5))
        ax.set(xlim=(-0.7, n - 0.3), ylim=(0, 1.05 * (float(y.max()) or 1.0)))
        if self.cut_height is not None:
            ax.axhline(self.cut_height, color=NEUTRAL, ls="--", lw=0.8)
        self._annotate(ax, x[:n])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _colours(self, given: list[str] | None) -> list:
        """Return the colour of each node: its cluster's, or neutral above the cut."""
        if self.n_clusters is None:
            return [LINE] * (2 * self.dendrogram.n_leaves - 1)
        cluster = self.labels.tolist()
        for a, b in self.dendrogram.merges.tolist():
            cluster.append(cluster[a] if cluster[a] == cluster[b] else -1)
        return [colour(j, given) for j in cluster]

    def _annotate(self, ax: Any, x: np.ndarray) -> None:
        """Name the leaves by their size, or the clusters of the cut by their number."""
        n_objects, n_groups = self.dendrogram.n_objects, len(x)
        groups = f" in {n_groups:,} groups" if n_groups < n_objects else ""
        if self.n_clusters is None:
            at, names = x, [f"{size:,}" for size in self.sizes]
            what, cut = "objects in each group", ""
        else:
            at = np.bincount(self.labels, x) / np.bincount(self.labels)
            names = [str(j) for j in range(len(at))]
            what, cut = "consensus cluster", f", cut into {len(at):,}"
        ax.set(xlabel=what, ylabel="1 - similarity")
        label_ticks(ax, "x", at, names)
        ax.set_title(f"{n_objects:,} objects{groups}{cut}", fontsize="medium")
        ax.spines[["top", "right", "bottom"]].set_visible(False)


def _tree_of(estimator: Any) -> tuple[Dendrogram, int]:
    """Return the tree of a fitted estimator and its number of clusters, or raise."""
    result = result_of(estimator)
    check_any(result.labels >= 0)
    if result.dendrogram is None:
        msg = (
            f"{type(estimator).__name__} has no dendrogram of its objects: it builds "
            "no tree, or some have sample_weight 0. Use ECPCSHC, EAC, WCT or SRS, "
            "dendrogram_.plot(), or ClusterGraphDisplay."
        )
        raise ValueError(msg)
    n_clusters = len(np.unique(result.labels[result.labels >= 0]))
    return result.dendrogram, n_clusters


def _cut_height(tree: Dendrogram, n_clusters: int | None) -> float | None:
    """Return the middle between the last merge kept and the first undone, or None."""
    if n_clusters is None or not 1 < n_clusters <= tree.n_leaves:
        return None
    below = 0.0 if n_clusters == tree.n_leaves else float(tree.heights[-n_clusters])
    return (below + float(tree.heights[1 - n_clusters])) / 2
