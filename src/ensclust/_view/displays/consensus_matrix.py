"""ConsensusMatrixDisplay: how often objects are together, ordered by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.validation import check_weights
from ensclust._view.checks import check_any, check_clusters, check_limit, result_of
from ensclust._view.consensus_blocks import consensus_blocks
from ensclust._view.displays.axes import axes_for, label_ticks
from ensclust._view.palette import check_colors, colour
from ensclust._view.tree_top import object_places, spread

MAX_ROWS = 400  # about as many as a default figure has pixels
_MOST_ROWS = 5000


class ConsensusMatrixDisplay:
    """Co-association of the objects, ordered by consensus cluster.

    Dark blocks on the diagonal are clusters that most base clusterings agree on; dark
    cells off the diagonal are objects that some of them put into another cluster. Make
    it with :meth:`from_estimator` or :meth:`from_ensemble`.

    Parameters
    ----------
    matrix : ndarray of shape (R, R)
        Mean co-association of the objects of each pair of rows.
    labels : ndarray of shape (R,)
        Consensus cluster of each row, ascending.
    rows : ndarray of shape (N,)
        Row of each object, -1 for one without a cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the matrix.
    figure_ : matplotlib Figure
        Figure that contains it.
    im_ : matplotlib AxesImage
        The matrix.

    Notes
    -----
    Co-association is the (weighted) share of base clusterings that put two objects
    together, whatever similarity the method used. Up to ``max_rows`` objects have a
    row each. If there are more, neighbours in the order share a row, and a cell is the
    exact mean over their pairs: time N M + Nc R^2, memory R^2 + Nc R numbers, never
    N x N. Missing labels: pairs are pooled over the clusterings that contain both
    objects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSHC, ConsensusMatrixDisplay
    >>> model = ECPCSHC(3, random_state=0).fit(load_iris().data)
    >>> display = ConsensusMatrixDisplay.from_estimator(model)
    >>> display.matrix.shape
    (150, 150)
    """

    def __init__(self, matrix: np.ndarray, labels: np.ndarray, rows: np.ndarray):
        self.matrix = matrix
        self.labels = labels
        self.rows = rows

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_rows: int = MAX_ROWS, ax: Any = None, **kwargs: Any
    ) -> ConsensusMatrixDisplay:
        """Draw the consensus matrix of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Any fitted consensus method. Within a cluster, objects are in the order of
            its dendrogram; without one, similar rows are side by side.
        max_rows : int, default=400
            Rows of the matrix, and up to one more for each cluster. More objects are
            averaged.
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        found, place = result_of(estimator), None
        if found.dendrogram is not None:
            place = spread(object_places(found.dendrogram), found.present)
        return cls._of(
            found.ensemble, found.labels, place, found.weights, max_rows
        ).plot(ax, **kwargs)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        labels: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        max_rows: int = MAX_ROWS,
        ax: Any = None,
        **kwargs: Any,
    ) -> ConsensusMatrixDisplay:
        """Draw how often base clusterings put the objects of a clustering together.

        Parameters
        ----------
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings.
        labels : array-like of shape (N,)
            A consensus, or any other clustering: 0, 1, ..., negative for none, or
            categories. Within a cluster, similar rows are side by side.
        weights : array-like of shape (M,) or None
            Weights of the base clusterings.
        max_rows, ax, **kwargs
            As in :meth:`from_estimator`.
        """
        ensemble = Ensemble(ensemble)
        labels = check_clusters(labels, ensemble.n_objects)
        if weights is not None:
            weights = check_weights(weights, ensemble.n_clusterings)
        return cls._of(ensemble, labels, None, weights, max_rows).plot(ax, **kwargs)

    @classmethod
    def _of(cls, ensemble, labels, place, weights, max_rows) -> ConsensusMatrixDisplay:
        check_any(labels >= 0)
        max_rows = check_limit(max_rows, "max_rows", _MOST_ROWS)
        n_clusters = len(np.unique(labels[labels >= 0]))
        if n_clusters > _MOST_ROWS:
            msg = (
                f"labels has {n_clusters:,} clusters; the matrix has a row for each "
                f"and shows at most {_MOST_ROWS:,}. Draw fewer clusters."
            )
            raise ValueError(msg)
        return cls(
            *consensus_blocks(ensemble, labels, max_rows, place=place, weights=weights)
        )

    @property
    def sizes(self) -> np.ndarray:
        """Objects of each row, (R,)."""
        return np.bincount(self.rows[self.rows >= 0], minlength=len(self.matrix))

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = "Blues",
        colorbar: bool = True,
        colors: Sequence | None = None,
        im_kw: dict | None = None,
    ) -> ConsensusMatrixDisplay:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        cmap : str or matplotlib Colormap, default="Blues"
            Colours from never to always together.
        colorbar : bool, default=True
            Whether to draw a colour bar for them.
        colors : sequence of colours or None
            Colours of the clusters, such as ``adata.uns["consensus_colors"]``; None
            uses the palette of ensclust.
        im_kw : dict or None
            More options for ``ax.imshow``.

        Returns
        -------
        ConsensusMatrixDisplay
            This one, with ``ax_``, ``figure_`` and ``im_``.
        """
        given = check_colors(colors, int(self.labels.max(initial=-1)) + 1)
        ax = axes_for(ax, "ConsensusMatrixDisplay.plot")
        style = {"cmap": cmap, "vmin": 0, "vmax": 1, "interpolation": "nearest"}
        self.im_ = ax.imshow(self.matrix, **{**style, **(im_kw or {})})
        if colorbar:
            bar = ax.figure.colorbar(self.im_, ax=ax)
            bar.set_label("share of base clusterings that agree")
            bar.outline.set_visible(False)
        self._mark_clusters(ax, given)
        ax.set_title(self._title(), fontsize="medium")
        ax.set_ylabel("consensus cluster")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _mark_clusters(self, ax: Any, given: list[str] | None) -> None:
        """Frame the clusters, with a strip of their colours and numbers on the left."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415  optional

        clusters, first, counts = np.unique(
            self.labels, return_index=True, return_counts=True
        )
        frame: dict[str, Any] = {"fill": False, "lw": 0.6, "ec": "0.4"}
        beside = {"transform": ax.get_yaxis_transform(), "clip_on": False}
        for j, start, count in zip(clusters, first - 0.5, counts, strict=True):
            ax.add_patch(Rectangle((start, start), count, count, **frame))
            own = {"facecolor": colour(j, given), **beside}
            ax.add_patch(Rectangle((-0.02, start), 0.015, count, **own))
        ax.set_xticks([])
        label_ticks(ax, "y", first + (counts - 1) / 2, list(map(str, clusters)))
        ax.tick_params("y", pad=7)
        ax.spines[:].set_visible(False)

    def _title(self) -> str:
        n_in, n_rows = int((self.rows >= 0).sum()), len(self.matrix)
        n_out = len(self.rows) - n_in
        mean = (
            f", each row a mean of about {round(n_in / n_rows):,}"
            if n_rows < n_in
            else ""
        )
        left = f"\n{n_out:,} without a cluster are not shown" if n_out else ""
        return f"Consensus matrix of {n_in:,} objects{mean}{left}"
