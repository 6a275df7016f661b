"""ConsensusByKDisplay: consensus matrices and CDFs for several k, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods.selection import select_k
from ensclust._quality.k_selection import KSelection, relative_growth
from ensclust._view.checks import check_kind, check_limit, result_of
from ensclust._view.consensus_by_k import consensus_by_k
from ensclust._view.displays.axes import axes_for, length, panels_in
from ensclust._view.palette import LINE, MARK, check_colors, colour

MAX_ROWS = 200
_MOST = 20  # matrices in one figure
_COLUMNS = 5


class ConsensusByKDisplay:
    """Consensus matrices, their CDFs and areas for several numbers of clusters.

    What ConsensusClusterPlus draws, for an ensemble of any base clusterings. A good k
    has a matrix of clean blocks, a CDF that is flat between 0 and 1, and is the last
    before the area under the CDF stops growing. Make it with :meth:`from_ensemble`,
    :meth:`from_selection` or :meth:`from_estimator`.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings of the objects judged.
    clusterings : dict of int to ndarray of shape (N,)
        Consensus clusters 0, 1, ... for each number of clusters, at most 20.
    max_rows : int, default=200
        Rows of a matrix; more objects are averaged.

    Attributes
    ----------
    ks : list of int
        The numbers of clusters.
    matrices : list of ndarray of shape (R, R)
        Consensus matrix for each of them, ordered by cluster.
    labels : list of ndarray of shape (R,)
        Consensus cluster of each row.
    cdfs : list of (ndarray, ndarray)
        Distinct consensus values, and the share of pairs of objects up to each.
    areas : ndarray of shape (n,)
        Area under each CDF.
    axes_ : ndarray of matplotlib Axes
        Axes of the matrices, then of the CDFs and of the areas.
    ax_ : matplotlib Axes
        Axes that contain them all, without ticks.
    figure_ : matplotlib Figure
        Figure that contains them.

    Notes
    -----
    The base clusterings are given, not run again for each k. So for each k every base
    cluster takes the consensus label of most of its objects, and the matrix and the
    CDF are those of the base clusterings reduced in this way, as in
    :func:`ensclust.select_k`. Time R^2 M / 2 for R distinct reduced rows, and N M, for
    each k.

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub. Consensus Clustering: A Resampling-Based
    Method for Class Discovery. Machine Learning, 2003. doi:10.1023/A:1023949509487

    M. D. Wilkerson, D. N. Hayes. ConsensusClusterPlus: a class discovery tool with
    confidence assessments and item tracking. Bioinformatics 26, 2010.
    doi:10.1093/bioinformatics/btq170

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ConsensusByKDisplay, generate
    >>> runs = generate(load_iris().data, random_state=0)
    >>> display = ConsensusByKDisplay.from_ensemble(runs, range(2, 6))
    >>> display.ks
    [2, 3, 4, 5]
    """

    def __init__(
        self,
        ensemble: Any,
        clusterings: dict[int, np.ndarray],
        *,
        max_rows: int = MAX_ROWS,
    ):
        if not 1 <= len(clusterings) <= _MOST:
            msg = (
                f"there are {len(clusterings)} numbers of clusters; 1 to {_MOST} can "
                "be drawn. Name them with ks or k_range."
            )
            raise ValueError(msg)
        levels = consensus_by_k(
            Ensemble(ensemble),
            list(clusterings.values()),
            check_limit(max_rows, "max_rows", 2000),
        )
        self.ks = list(clusterings)
        self.matrices = [level.blocks.matrix for level in levels]
        self.labels = [level.blocks.labels for level in levels]
        self.cdfs = [(level.values, level.cdf) for level in levels]
        self.areas = np.array([level.area for level in levels])

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        k_range: Iterable[int] = range(2, 7),
        method: Any = "ecpcs-hc",
        *,
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        ax: Any = None,
        **kwargs: Any,
    ) -> ConsensusByKDisplay:
        """Compute the consensus for several numbers of clusters, and draw them.

        Parameters
        ----------
        ensemble, k_range, method, random_state
            As in :func:`ensclust.select_k`, which judges a sample of 5,000 objects.
        max_rows : int, default=200
            Rows of a matrix; more objects are averaged.
        ax : matplotlib Axes or None
            Axes whose place the panels take; None creates a figure.
        **kwargs
            Passed to :meth:`plot`.
        """
        ensemble = Ensemble(ensemble)
        found = select_k(
            ensemble, k_range, method, criteria=["cdf_area"], random_state=random_state
        )
        return cls.from_selection(found, ensemble, max_rows=max_rows, ax=ax, **kwargs)

    @classmethod
    def from_selection(
        cls,
        selection: KSelection,
        ensemble: Any,
        ks: Iterable[int] | None = None,
        *,
        max_rows: int = MAX_ROWS,
        ax: Any = None,
        **kwargs: Any,
    ) -> ConsensusByKDisplay:
        """Draw the clusterings that :func:`ensclust.select_k` judged.

        Parameters
        ----------
        selection : KSelection
            What ``select_k`` returned.
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings that it was given.
        ks : iterable of int or None
            Numbers of clusters to draw; None means all, or the 20 around ``best_k``.
        max_rows, ax, **kwargs
            As in :meth:`from_ensemble`.
        """
        check_kind(selection, "selection", KSelection)
        sample, clusterings = selection.judged(Ensemble(ensemble))
        wanted = selection.around_best(_MOST) if ks is None else list(ks)
        if unknown := [k for k in wanted if k not in clusterings]:
            msg = (
                f"ks: {unknown[0]!r} is not among the numbers of clusters that were "
                f"judged: {', '.join(map(str, clusterings))}."
            )
            raise ValueError(msg)
        chosen = {k: clusterings[k] for k in wanted}
        return cls(sample, chosen, max_rows=max_rows).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, ks: Iterable[int] | None = None, **kwargs: Any
    ) -> ConsensusByKDisplay:
        """Draw the numbers of clusters that an estimator with "auto" chose from.

        Parameters
        ----------
        estimator : estimator
            A fitted consensus method with ``n_clusters="auto"``.
        ks, **kwargs
            As in :meth:`from_selection`.
        """
        result = result_of(estimator)
        if result.selection is None:
            msg = (
                f"{type(estimator).__name__} was fitted with n_clusters="
                f"{estimator.n_clusters!r} and compared no numbers of clusters. Fit it "
                'with n_clusters="auto", or use ConsensusByKDisplay.from_ensemble('
                "model.ensemble_)."
            )
            raise ValueError(msg)
        return cls.from_selection(result.selection, result.ensemble, ks, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = "Blues",
        colors: Sequence | None = None,
        im_kw: dict | None = None,
    ) -> ConsensusByKDisplay:
        """Draw the matrices, and below them the CDFs and the areas.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Axes whose place the panels take; None creates a figure.
        cmap : str or matplotlib Colormap, default="Blues"
            Colours of the matrices, from never to always together.
        colors : sequence of colours or None
            Colours of the clusters; None uses the palette of ensclust.
        im_kw : dict or None
            More options for ``ax.imshow``.

        Returns
        -------
        ConsensusByKDisplay
            This one, with ``axes_``, ``ax_`` and ``figure_``.
        """
        n_columns = min(len(self.ks), _COLUMNS)
        n_rows = -(-len(self.ks) // n_columns)
        size = (max(6.4, 2.2 * n_columns), 2.3 * n_rows + 2.8)
        given = check_colors(colors, max(self.ks))
        self.ax_ = axes_for(ax, "ConsensusByKDisplay.plot", size)
        upper, lower = panels_in(self.ax_, 2, 1, [2.3 * n_rows, 2.8])
        matrices = panels_in(upper, n_rows, n_columns)
        style = {"cmap": cmap, "vmin": 0, "vmax": 1, "interpolation": "nearest"}
        for i, panel in enumerate(matrices):
            if i >= len(self.ks):
                panel.set_axis_off()
                continue
            panel.imshow(self.matrices[i], **{**style, **(im_kw or {})})
            _strip(panel, self.labels[i], given)
            panel.set_title(f"k = {self.ks[i]}", fontsize="medium")
        curves, areas = panels_in(lower, 1, 2)
        self._draw_cdfs(curves)
        self._draw_areas(areas)
        self.axes_ = np.array([*matrices[: len(self.ks)], curves, areas])
        self.figure_ = self.ax_.figure
        return self

    def _draw_cdfs(self, ax: Any) -> None:
        shades = _shades(len(self.ks))
        for k, (values, cdf), shade in zip(self.ks, self.cdfs, shades, strict=True):
            steps = np.concatenate([[0.0], values, [1.0]])
            heights = np.concatenate([[0.0], cdf, [1.0]])
            ax.step(steps, heights, where="post", color=shade, lw=1.4, label=str(k))
        ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="consensus of a pair of objects",
               ylabel="share of pairs")  # fmt: skip
        ax.set_title("Consensus CDF", fontsize="medium", loc="left")
        ax.legend(
            title="k",
            fontsize="small",
            frameon=False,
            ncols=-(-len(self.ks) // max(3, int(length(ax, "y") / 14))),
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            handlelength=1.2,
        )
        ax.spines[["top", "right"]].set_visible(False)

    def _draw_areas(self, ax: Any) -> None:
        growing = ax.twinx()  # growth may be far above 1, an area is not
        growth = relative_growth(self.areas)
        for own, values, style, title in (
            (ax, self.areas, {"color": LINE, "marker": "o"}, "area"),
            (growing, growth, {"color": MARK, "marker": "s", "ls": "--"},
             "relative growth"),
        ):  # fmt: skip
            own.plot(self.ks, values, ms=4, lw=1.2, **style)
            own.set_ylabel(title, color=style["color"])
            own.spines["top"].set_visible(False)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="number of clusters", ylim=(0, 1.02))
        top = max(1.02, 1.05 * np.nanmax(growth))
        growing.set_ylim(min(0, np.nanmin(growth)), top)
        ax.set_title("Area under the CDF", fontsize="medium", loc="left")


def _strip(ax: Any, labels: np.ndarray, given: list[str] | None) -> None:
    """Draw the colours of the clusters along the left side of a matrix."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415  optional

    clusters, first, counts = np.unique(labels, return_index=True, return_counts=True)
    beside = {"transform": ax.get_yaxis_transform(), "clip_on": False}
    for j, start, count in zip(clusters, first - 0.5, counts, strict=True):
        own = {"facecolor": colour(j, given), **beside}
        ax.add_patch(Rectangle((-0.06, start), 0.04, count, **own))
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_color("0.8")


def _shades(n: int) -> list:
    """Return colours for a sequence of curves, from light to dark."""
    import matplotlib as mpl  # noqa: PLC0415  optional

    return [mpl.colormaps["viridis"](x) for x in np.linspace(0.8, 0, n)]
