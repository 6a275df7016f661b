"""SelectKDisplay: criteria for the number of clusters, and what they suggest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ensclust._methods.selection import select_k
from ensclust._quality.criteria import CRITERIA
from ensclust._quality.k_selection import KSelection
from ensclust._support.validation import import_optional
from ensclust._view.checks import check_kind, result_of
from ensclust._view.displays.axes import axes_for, length, panels_in
from ensclust._view.palette import LINE, MARK, NEUTRAL


class SelectKDisplay:
    """Every criterion over the number of clusters, each with the k that it suggests.

    A dot marks the suggestion of a criterion, a grey line ``best_k``; the criterion
    that decides it has a bold title. Make it with :meth:`from_selection`,
    :meth:`from_estimator` or :meth:`from_ensemble`.

    Parameters
    ----------
    selection : KSelection
        What to draw; ``selection.scores`` has the curves.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the criteria, in the order of ``selection.scores``.
    ax_ : matplotlib Axes
        Axes that contain them all, without ticks; the first of ``axes_`` if axes were
        given for each criterion.
    figure_ : matplotlib Figure
        Figure that contains them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import SelectKDisplay, generate
    >>> runs = generate(load_iris().data, random_state=0)
    >>> display = SelectKDisplay.from_ensemble(runs, range(2, 8))
    >>> display.selection.best_k
    3
    """

    def __init__(self, selection: KSelection):
        check_kind(selection, "selection", KSelection)
        self.selection = selection

    @classmethod
    def from_selection(
        cls, selection: KSelection, *, ax: Any = None, **kwargs: Any
    ) -> SelectKDisplay:
        """Draw a result of :func:`ensclust.select_k`; see :meth:`plot`."""
        return cls(selection).plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Any = None, **kwargs: Any
    ) -> SelectKDisplay:
        """Draw why an estimator with ``n_clusters="auto"`` chose its k.

        Parameters
        ----------
        estimator : estimator
            A fitted consensus method with ``n_clusters="auto"``.
        ax : matplotlib Axes, sequence of them or None
            Where to draw, see :meth:`plot`.
        **kwargs
            Passed to :meth:`plot`.
        """
        result = result_of(estimator)
        if result.selection is None:
            msg = (
                f"{type(estimator).__name__} was fitted with n_clusters="
                f"{estimator.n_clusters!r}, so no k was chosen. Fit it with "
                'n_clusters="auto", or use SelectKDisplay.from_ensemble('
                "model.ensemble_)."
            )
            raise ValueError(msg)
        return cls(result.selection).plot(ax, **kwargs)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        k_range: Iterable[int] | None = None,
        method: str = "ecpcs-hc",
        *,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> SelectKDisplay:
        """Judge many numbers of clusters with :func:`ensclust.select_k` and draw them.

        Parameters
        ----------
        ensemble, k_range, method, random_state
            As in :func:`ensclust.select_k`.
        ax : matplotlib Axes, sequence of them or None
            Where to draw, see :meth:`plot`.
        **kwargs
            Passed to :meth:`plot`.
        """
        return cls(select_k(ensemble, k_range, method, random_state=random_state)).plot(
            ax, **kwargs
        )

    def plot(self, ax: Any = None, *, line_kw: dict | None = None) -> SelectKDisplay:
        """Draw one panel per criterion.

        Parameters
        ----------
        ax : matplotlib Axes, sequence of them or None
            Axes whose place the panels take, or one for each criterion; None creates a
            figure.
        line_kw : dict or None
            More options for the curves, see ``ax.plot``.

        Returns
        -------
        SelectKDisplay
            This one, with ``axes_``, ``ax_`` and ``figure_``.
        """
        import_optional("matplotlib.pyplot", "SelectKDisplay.plot", "plot")
        if np.ndim(ax):
            self.axes_ = self._check_axes(ax)
            self.ax_ = self.axes_[0]
            self.axes_[-1].set_xlabel("number of clusters")
        else:
            self.ax_ = axes_for(ax, "SelectKDisplay.plot")
            self.axes_ = self._panels(self.ax_)
        for panel, name in zip(self.axes_, self.selection.scores, strict=True):
            self._draw(panel, name, line_kw or {})
        self.figure_ = self.ax_.figure
        return self

    def _check_axes(self, axes: Any) -> np.ndarray:
        axes, names = np.ravel(axes), list(self.selection.scores)
        if len(axes) != len(names):
            msg = (
                f"axes holds {len(axes)} axes; pass {len(names)}, one for each of "
                f"{', '.join(names)}."
            )
            raise ValueError(msg)
        return axes

    def _panels(self, ax: Any) -> np.ndarray:
        """Return axes for the criteria that replace the given ones."""
        n = len(self.selection.scores)
        n_columns = 1 if n < 3 else 2
        panels = panels_in(ax, -(-n // n_columns), n_columns)
        for panel in panels[n:]:
            panel.set_axis_off()
        panels = panels[:n]
        for panel in panels[:-n_columns]:
            panel.tick_params("x", labelbottom=False)
        for panel in panels[-n_columns:]:
            panel.set_xlabel("number of clusters")
        return np.array(panels)

    def _draw(self, ax: Any, name: str, line_kw: dict) -> None:
        """Draw one criterion, the k that it suggests, and ``best_k``."""
        ks, values = self.selection.ks, self.selection.scores[name]
        style = {"color": LINE, "marker": ".", "markersize": 3, "linewidth": 1.2}
        for k in self.selection.best_k_range:  # that cannot be distinguished
            ax.axvspan(k - 0.4, k + 0.4, color=NEUTRAL, lw=0, alpha=0.15)
        ax.axvline(self.selection.best_k, color=NEUTRAL, lw=0.8, alpha=0.6)
        ax.plot(ks, values, **{**style, **line_kw})
        longest = max(len(CRITERIA[other].title) for other in self.selection.scores)
        size = min(9.0, max(5.0, length(ax, "x") / (0.55 * longest)))
        weight = "bold" if name == self.selection.decisive else "normal"
        ax.set_title(CRITERIA[name].title, fontsize=size, weight=weight, loc="left")
        if name in self.selection.suggested:
            k = self.selection.suggested[name]
            place = k, values[ks.index(k)]
            ax.plot(*place, "o", color=MARK, markersize=5)
            ax.annotate(f" {k}", place, (2, 2), textcoords="offset points")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.tick_params(labelsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(y=0.25)
