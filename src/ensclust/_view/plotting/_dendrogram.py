"""DendrogramDisplay: the top of the tree, coloured by a cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods import METHODS, make
from ensclust._methods.families import Agglomeration
from ensclust._support.validation import check_choice, check_n_clusters
from ensclust._trees.dendrogram import Dendrogram
from ensclust._view.plotting import _style

MAX_LEAVES = 50


class DendrogramDisplay:
    """The top of a dendrogram, its branches coloured by the clusters of a cut.

    Long branches below the line are clusters that stay apart whatever happens to the
    similarity. Make it with :meth:`from_estimator`,
    :meth:`from_ensemble` or :meth:`from_dendrogram`.

    Parameters
    ----------
    dendrogram : Dendrogram
        What is drawn: a tree of few leaves, each a group of objects.
    n_clusters : int or None
        Clusters of the cut; None is no cut.

    Attributes
    ----------
    sizes : ndarray of shape (L,)
        Objects of each leaf.
    labels : ndarray of shape (L,)
        Cluster of each leaf, numbered as ``dendrogram.cut``; all 0 without a cut.
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
            A method with a dendrogram, such as :class:`ensclust.ECPCSHC`, after
            ``fit``.
        n_clusters : int or None
            Another cut than the estimator's own.
        max_leaves : int, default=50
            Groups shown, and at least one for each cluster.
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        **kwargs
            Handed to :meth:`plot`.
        """
        _style.check_consensus(estimator)
        _style.check_any(estimator.labels_ >= 0)
        if not hasattr(estimator, "dendrogram_"):
            msg = (
                f"{type(estimator).__name__} has no dendrogram: it makes no tree. Use "
                "ECPCSHC, EAC, WCT or SRS, or ClusterGraphDisplay."
            )
            raise ValueError(msg)
        k = estimator.n_clusters_ if n_clusters is None else n_clusters
        return cls.from_dendrogram(
            estimator.dendrogram_, k, max_leaves=max_leaves, ax=ax, **kwargs
        )

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
            Clusters of the cut that is coloured; None is no cut.
        method : "ecpcs-hc", "eac", "wct" or "srs", default="ecpcs-hc"
            What makes the tree, at the cost of its ``fit``.
        max_leaves, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        trees = (name for name, c in METHODS.items() if issubclass(c, Agglomeration))
        check_choice(method, "method", tuple(trees))
        model = make(method, n_clusters=1, base="precomputed").fit(Ensemble(ensemble))
        return cls.from_dendrogram(
            model.dendrogram_, n_clusters, max_leaves=max_leaves, ax=ax, **kwargs
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
            Clusters of the cut that is coloured; None is no cut.
        max_leaves, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        _style.check_kind(dendrogram, "dendrogram", Dendrogram)
        n = dendrogram.n_objects
        least = 1 if n_clusters is None else check_n_clusters(n_clusters, n)
        n_groups = max(_style.check_limit(max_leaves, "max_leaves", 1000), least)
        return cls(dendrogram.top(min(n_groups, n)), n_clusters).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, line_kw: dict | None = None) -> DendrogramDisplay:
        """Draw the tree.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None makes a figure.
        line_kw : dict or None
            More for the branches, a matplotlib LineCollection.

        Returns
        -------
        DendrogramDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = _style.axes(ax, "DendrogramDisplay.plot")
        from matplotlib.collections import LineCollection, PolyCollection  # noqa: PLC0415

        tree, n = self.dendrogram, self.dendrogram.n_leaves
        x, y = self._places()
        colours = self._colours()
        lines, shades = [], []
        for node, (a, b) in enumerate(tree.merges, start=n):
            lines += [[(x[i], y[i]), (x[i], y[node])] for i in (a, b)]
            lines.append([(x[a], y[node]), (x[b], y[node])])
            shades += [colours[a], colours[b], colours[node]]
        style = {"colors": shades, "linewidths": 1.2, "capstyle": "round"}
        ax.add_collection(LineCollection(lines, **{**style, **(line_kw or {})}))
        # What is merged below a leaf is a wedge that reaches down to 0.
        outline = np.array([(-0.06, 1), (0.06, 1), (0.3, 0), (-0.3, 0)])
        wedges = [outline * (1, y[i]) + (x[i], 0) for i in range(n)]
        ax.add_collection(PolyCollection(wedges, facecolors=colours[:n], alpha=0.5))
        ax.set_xlim(-0.7, n - 0.3)
        ax.set_ylim(0, 1.05 * (float(y.max()) or 1.0))
        if self.cut_height is not None:
            ax.axhline(self.cut_height, color=_style.NEUTRAL, ls="--", lw=0.8)
        self._annotate(ax, x[:n])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where each node is: the middle of its parts, at its height."""
        tree, n = self.dendrogram, self.dendrogram.n_leaves
        x = np.empty(2 * n - 1)
        x[tree.leaf_order()] = np.arange(n)
        for i, parts in enumerate(tree.merges):
            x[n + i] = x[parts].mean()
        return x, np.concatenate([tree.leaf_heights, tree.heights])

    def _colours(self) -> list:
        """Return the colour of each node: its cluster's, or neutral above the cut."""
        tree, n = self.dendrogram, self.dendrogram.n_leaves
        if self.n_clusters is None:
            return [_style.LINE] * (2 * n - 1)
        palette = _style.cluster_colours(int(self.labels.max()) + 1)
        cluster = np.append(self.labels, np.full(n - 1, -1))
        for i, (a, b) in enumerate(tree.merges):
            if cluster[a] == cluster[b]:
                cluster[n + i] = cluster[a]
        return [_style.NEUTRAL if j < 0 else palette[j] for j in cluster]

    def _annotate(self, ax: Any, x: np.ndarray) -> None:
        """Name the leaves by their size, or the clusters of the cut by their number."""
        n_objects, n_groups = self.dendrogram.n_objects, len(x)
        if self.n_clusters is None:
            names = [f"{size:,}" for size in self.sizes]
            _style.label_ticks(ax, "x", x, names)
            ax.set_xlabel("objects in each group")
        else:
            middle = np.bincount(self.labels, x) / np.bincount(self.labels)
            _style.label_ticks(ax, "x", middle, [str(j) for j in range(len(middle))])
            ax.set_xlabel("consensus cluster")
        title = f"{n_objects:,} objects"
        if n_groups < n_objects:
            title += f" in {n_groups:,} groups"
        if self.n_clusters is not None:
            title += f", cut into {len(np.unique(self.labels)):,}"
        ax.set_title(title, fontsize="medium")
        ax.set_ylabel("1 - similarity")
        ax.spines[["top", "right", "bottom"]].set_visible(False)


def _cut_height(tree: Dendrogram, n_clusters: int | None) -> float | None:
    """Return the middle between the last merge kept and the first undone, or None."""
    if n_clusters is None or not 1 < n_clusters <= tree.n_leaves:
        return None
    below = 0.0 if n_clusters == tree.n_leaves else float(tree.heights[-n_clusters])
    return (below + float(tree.heights[1 - n_clusters])) / 2
