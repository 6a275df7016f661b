"""KSelection: criteria for each number of clusters, and what they suggest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.criteria import CRITERIA
from ensclust._support import notebook
from ensclust._support.validation import import_optional

# What best_k follows for given base clusterings, and for those generated from
# features; see docs/evidence.md.
DEFAULT_CRITERION, WITH_FEATURES = "anmi", "eigengap"
LEVEL = 0.05  # p above which the features count as noise


@dataclass(frozen=True, eq=False, repr=False)
class KSelection:
    """What :func:`ensclust.select_k` returns: criteria for each k, and suggestions.

    Attributes
    ----------
    method : str
        The consensus method that made the clusters.
    ks : tuple of int
        The numbers of clusters tried, ascending.
    scores : dict of str to tuple of float
        Value of every criterion for each k; NaN if it is not defined.
    suggested : dict of str to int
        The number of clusters that each criterion suggests; criteria that are not
        defined for any k are left out.
    n_judged : int
        Number of objects that were judged: all, or a sample.
    labels : dict of int to ndarray of shape (n_judged,)
        The clusters for each k that the method could form.
    objects : ndarray of shape (n_judged,)
        The objects that were judged, ascending.
    p : float or None
        How often data without clusters are as extreme as these features, (b + 1) /
        (B + 1) for b of B draws; see :func:`ensclust.select_k`. With labels alone: how
        often permuted labels agree as well, if that is often; otherwise None, because
        clusterings of noise agree, too.
    null : str
        What was drawn, and how often; "" if nothing was.
    best_k_range : tuple of int
        The numbers of clusters that cannot be distinguished from ``best_k``.
    is_noise : bool
        Whether there is no evidence of clusters; ``best_k`` is then 1.
    is_generated : bool
        Whether the base clusterings were generated from features that were tested
        against noise; ``best_k`` then follows "eigengap".
    """

    method: str
    ks: tuple[int, ...]
    scores: dict[str, tuple[float, ...]]
    suggested: dict[str, int]
    n_judged: int
    labels: dict[int, np.ndarray] = field(default_factory=dict, compare=False)
    objects: np.ndarray = field(default_factory=lambda: np.arange(0), compare=False)
    p: float | None = None
    null: str = ""
    best_k_range: tuple[int, ...] = ()
    is_noise: bool = False
    is_generated: bool = False

    @property
    def best_k(self) -> int:
        """The suggestion of the decisive criterion; 1 without evidence of clusters.

        The smallest k if there is no suggestion.
        """
        if self.is_noise:
            return 1
        return self.suggested.get(self.decisive, self.ks[0])

    @property
    def decisive(self) -> str:
        """The criterion that ``best_k`` follows: the default, or the first one."""
        default = WITH_FEATURES if self.is_generated else DEFAULT_CRITERION
        first = next(iter(self.suggested), "")
        return default if default in self.suggested else first

    @property
    def verdict(self) -> str:
        """A phrase that says whether there is more than noise."""
        if self.p is not None:
            what = "no more than noise" if self.is_noise else "more than noise"
            return f"{what}: p = {self.p:.2g}, {self.null}"
        if self.is_noise:
            return "no number of clusters stands out"
        return "p unknown: labels alone cannot tell clusters from noise; pass X to test"

    @property
    def outcome(self) -> str:
        """A line: best_k, what cannot be distinguished from it, and the verdict."""
        near = ", ".join(str(k) for k in self.best_k_range if k != self.best_k)
        return (
            f"best_k = {self.best_k}"
            + f" (or {near})" * bool(near)
            + f"; {self.verdict}"
        )

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict per k: "k", every criterion, and "delta_area" after "cdf_area".

        The delta area is Monti's: the area's growth from the previous k, relative to it
        (for the first k, the area itself).
        """
        columns: dict[str, Sequence] = {"k": self.ks}
        for name, values in self.scores.items():
            columns[name] = values
            if name == "cdf_area":
                columns["delta_area"] = relative_growth(values)
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def judged(self, ensemble: Ensemble) -> tuple[Ensemble, dict[int, np.ndarray]]:
        """Return the objects of an ensemble that were judged, and their clusters.

        Parameters
        ----------
        ensemble : Ensemble
            The base clusterings that :func:`ensclust.select_k` was given.
        """
        if not self.labels:
            msg = (
                "this selection holds no clusterings. Run select_k with criteria of "
                "clusterings, such as 'anmi' or 'cdf_area'."
            )
            raise ValueError(msg)
        if not self.fits(ensemble):
            msg = (
                f"the ensemble has {ensemble.n_objects:,} objects, fewer than were "
                "judged. Pass the ensemble that select_k was given."
            )
            raise ValueError(msg)
        if len(self.objects) == ensemble.n_objects:
            return ensemble, self.labels
        return ensemble.take(self.objects), self.labels

    def fits(self, ensemble: Ensemble) -> bool:
        """Whether there are clusterings, and an ensemble has their objects."""
        last = self.objects.max(initial=-1)
        return bool(self.labels) and last < ensemble.n_objects

    def around_best(self, n_most: int) -> list[int]:
        """Return the k with a clustering, ascending, nearest to ``best_k`` if many."""
        known = list(self.labels)
        near = sum(k < self.best_k for k in known)
        first = max(0, min(near - n_most // 2, len(known) - n_most))
        return known[first : first + n_most]

    def to_pandas(self):
        """Return the table as a pandas DataFrame, indexed by k."""
        pandas = import_optional("pandas", "KSelection.to_pandas", "pandas")
        return pandas.DataFrame(self.table).set_index("k")

    def plot(self, axes=None):
        """Draw each criterion over k with matplotlib and return the axes.

        Parameters
        ----------
        axes : matplotlib Axes, sequence of them or None
            One per criterion, or one that they share; None creates a figure. A dot
            marks the suggested k.

        See Also
        --------
        ensclust.SelectKDisplay : The same, for estimators and ensembles as well.
        """
        from ensclust._view.displays.select_k import SelectKDisplay  # noqa: PLC0415  drawing is above

        return SelectKDisplay.from_selection(self, ax=axes).axes_

    def __str__(self) -> str:
        """Return the table as text; a star marks what a criterion suggests."""
        rows = self.table
        width = {name: max(len(name), 6) + 1 for name in rows[0]} | {"k": 4}
        lines = ["".join(f"{name:>{size}} " for name, size in width.items())]
        for row in rows:
            line = f"{row['k']:>{width['k']}} "
            for name in list(width)[1:]:
                mark = "*" if self.suggested.get(name) == row["k"] else " "
                value = "-" if np.isnan(row[name]) else f"{row[name]:.4f}"
                line += f"{value:>{width[name]}}{mark}"
            lines.append(line)
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        width = max(map(len, self.scores))
        lines = [
            f"  {name:<{width}}  {self.suggested.get(name) or '-':>3}  {_rule(name)}"
            + "  <- best_k" * (name == self.decisive and not self.is_noise)
            for name in self.scores
        ]
        return "\n".join([self._title(), *lines, f"  {self.outcome}"])

    def _title(self) -> str:
        tried = f"k from {self.ks[0]} to {self.ks[-1]}"
        return f"KSelection: {self.method}, {tried}, {self.n_judged:,} objects"

    def _repr_html_(self) -> str:
        rows = [
            (
                name,
                self.suggested.get(name, np.nan),
                dict(zip(self.ks, values, strict=True)).get(
                    self.suggested.get(name, -1), np.nan
                ),
                _rule(name),
            )
            for name, values in self.scores.items()
        ]
        return notebook.table(
            self._title(),
            ("criterion", "k", "value", "rule"),
            rows,
            self.outcome,
        )


def _rule(name: str) -> str:
    return f"{CRITERIA[name].rule} {CRITERIA[name].title}"


def relative_growth(area: Sequence[float] | np.ndarray) -> list[float]:
    """Return Monti's delta area: the growth relative to the previous value."""
    values = np.array(area)
    before = np.append(1.0, values[:-1])
    return (
        np.append(values[:1], np.diff(values)) / np.where(before > 0, before, np.nan)
    ).tolist()
