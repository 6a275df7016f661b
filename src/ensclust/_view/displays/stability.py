"""StabilityDisplay: how certain the objects of each cluster are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.certainty import Certainty
from ensclust._support.plain import counted
from ensclust._view.checks import check_any, check_kind, result_of
from ensclust._view.displays.axes import axes_for, label_ticks, length
from ensclust._view.palette import LINE, MARK

_LEGEND = 110  # points that an entry of the legend takes up
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
_FEW = 6  # below this number of clusters, bars do not get wider


class StabilityDisplay:
    """How often the objects of each cluster are together, and with the next cluster.

    A cluster is stable if its bar is high and far above the dash, the mean
    co-association of its objects with the next cluster of each. Make it with
    :meth:`from_estimator`, :meth:`from_ensemble` or :meth:`from_certainty`.

    Parameters
    ----------
    certainty : Certainty
        What is drawn; ``certainty.objects()`` has every object.

    Attributes
    ----------
    clusters : ndarray of shape (c,)
        The clusters of at least two objects, by descending cluster consensus.
    quantiles : ndarray of shape (c, 5)
        The 5, 25, 50, 75 and 95 % quantiles of the item consensus of their objects.
    next_consensus : ndarray of shape (c,)
        Mean co-association of their objects with the next cluster of each.
    ax_ : matplotlib Axes
        Axes with the clusters.
    figure_ : matplotlib Figure
        Figure that contains it.

    Examples
    --------
    >>> from ensclust import Ensemble, StabilityDisplay
    >>> ensemble = Ensemble([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = StabilityDisplay.from_ensemble(ensemble, [0, 0, 1, 1])
    >>> display.clusters
    array([1, 0])
    """

    def __init__(self, certainty: Certainty):
        check_kind(certainty, "certainty", Certainty)
        check_any(certainty.labels >= 0)
        self.certainty = certainty
        surest = np.argsort(-certainty.cluster_consensus, kind="stable")
        self.clusters = surest[certainty.sizes[surest] > 1]
        members = [certainty.labels == j for j in self.clusters]
        self.quantiles = np.array(
            [np.quantile(certainty.item_consensus[i], LEVELS) for i in members]
        ).reshape(-1, len(LEVELS))
        self.next_consensus = np.array(
            [certainty.next_consensus[i].mean() for i in members]
        )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> StabilityDisplay:
        """Draw how stable the clusters of a fitted estimator are.

        Parameters
        ----------
        estimator : estimator
            Any fitted consensus method.
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        result_of(estimator)  # or raise
        return cls(estimator.certainty()).plot(ax, **kwargs)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        labels: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> StabilityDisplay:
        """Draw how well base clusterings support a clustering.

        Parameters
        ----------
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings.
        labels : array-like of shape (N,)
            A consensus, or any other clustering: 0, 1, ..., negative for none.
        weights : array-like of shape (M,) or None
            Weights of the base clusterings.
        ax, **kwargs
            As in :meth:`from_estimator`.
        """
        return cls(Certainty.of(Ensemble(ensemble), labels, weights=weights)).plot(
            ax, **kwargs
        )

    @classmethod
    def from_certainty(
        cls, certainty: Certainty, *, ax: Any = None, **kwargs: Any
    ) -> StabilityDisplay:
        """Draw a certainty; parameters as in :meth:`from_estimator`."""
        return cls(certainty).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, bar_kw: dict | None = None) -> StabilityDisplay:
        """Draw one bar per cluster.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        bar_kw : dict or None
            More options for ``ax.bar``, which draws the middle half of the objects.

        Returns
        -------
        StabilityDisplay
            This one, with ``ax_`` and ``figure_``.
        """
        ax = axes_for(ax, "StabilityDisplay.plot")
        low, first, middle, third, high = self.quantiles.T
        n = len(self.clusters)
        x = np.arange(n)
        style = {"width": 0.5, "color": LINE, "label": "middle half of objects"}
        ax.vlines(x, low, high, color=LINE, lw=1, label="5 % to 95 %")
        ax.bar(x, third - first, bottom=first, **{**style, **(bar_kw or {})})
        ax.hlines(middle, x - 0.25, x + 0.25, color="#1b2f44", lw=1.5)
        if (self.certainty.sizes > 0).sum() > 1:
            ax.hlines(
                self.next_consensus,
                x - 0.4,
                x + 0.4,
                color=MARK,
                lw=2,
                label="with the next cluster, mean",
            )
        n_places = max(n, _FEW)
        ax.set(
            xlim=((n - 1 - n_places) / 2, (n - 1 + n_places) / 2),
            ylim=(0, 1.02),
            yticks=np.linspace(0, 1, 6),
            xlabel="consensus cluster, the most certain first",
            ylabel="co-association of its objects",
        )
        label_ticks(ax, "x", x, [str(j) for j in self.clusters])
        self._explain(ax)
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _explain(self, ax: Any) -> None:
        """Put the title and, between it and the axes, the legend."""
        n_columns = int(np.clip(length(ax, "x") / _LEGEND, 1, 3))
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=n_columns,
            frameon=False,
            fontsize=8,
            handlelength=1.2,
            columnspacing=1.2,
            borderaxespad=0,
        )
        ax.set_title(
            self._title(),
            fontsize="medium",
            pad=8 + 14 * -(-3 // n_columns),
        )

    def _title(self) -> str:
        n = int((self.certainty.sizes > 0).sum())
        n_single = int((self.certainty.sizes == 1).sum())
        left = f"; {n_single:,} of one object not shown" if n_single else ""
        return f"Certainty of {counted(n, 'cluster')}{left}"
