"""How certain a consensus is: for each object, cluster and base clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.agreement import Agreement, agreement
from ensclust._ensemble.ensemble import Ensemble, as_counts
from ensclust._quality.mean_coassociation import (
    Histograms,
    cluster_consensus,
    item_consensus,
)
from ensclust._support import notebook
from ensclust._support.plain import counted
from ensclust._support.validation import (
    check_labelling,
    check_weights,
    import_optional,
    unexpected,
)

_SHOWN = 8  # clusters in the text
_WIDTH = 80  # characters in a line


@dataclass(frozen=True, eq=False, repr=False)
class Certainty:
    """How far the base clusterings support a clustering; made by :meth:`Certainty.of`.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        The clustering, -1 for an object without a cluster.
    item_consensus : ndarray of shape (N,)
        Mean co-association of each object with the others of its cluster: how often
        they are together. NaN without a cluster or without others in it.
    next_cluster : ndarray of shape (N,)
        The other cluster with the largest mean co-association, -1 if all are 0.
    next_consensus : ndarray of shape (N,)
        That mean, or 0.
    vote_share : ndarray of shape (N,) or None
        Share of the object's vote that its cluster got, for methods that vote.
    sizes : ndarray of shape (k,)
        Objects per cluster.
    cluster_consensus : ndarray of shape (k,)
        Mean co-association of the pairs of objects within each cluster; NaN for a
        cluster of one object.
    agreement : Agreement
        ``nmi``, ``ari`` and ``ecs`` of each base clustering with the labels, (M,) each.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings in all means above.
    names : list of str
        Names of the base clusterings.

    Notes
    -----
    Item and cluster consensus are those of Monti et al. (2003), on the objects that
    they concern. Co-association is the (weighted) share of clusterings that put two
    objects together, whatever similarity the method used, so methods can be compared.
    Missing labels: sums over pairs are pooled, numerator and denominator, over the
    clusterings that contain both; 0 if there are none.

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub. Consensus Clustering: A Resampling-Based
    Method for Class Discovery and Visualization of Gene Expression Microarray Data.
    Machine Learning 52, 2003. doi:10.1023/A:1023949509487

    Examples
    --------
    >>> from ensclust import Certainty, Ensemble
    >>> ensemble = Ensemble([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> sure = Certainty.of(ensemble, [0, 0, 1, 1])
    >>> sure.margin.round(2)
    array([0.67, 0.33, 0.83, 0.83])
    >>> sure
    Certainty of 4 objects in 2 clusters, from 3 base clusterings
      item consensus     mean 0.83, least 0.67
      cluster consensus  0: 0.67 (2)  1: 1.00 (2)
      agreement (NMI)    mean 0.78, least 0.35: clustering 2
    """

    labels: np.ndarray
    item_consensus: np.ndarray
    next_cluster: np.ndarray
    next_consensus: np.ndarray
    vote_share: np.ndarray | None
    sizes: np.ndarray
    cluster_consensus: np.ndarray
    agreement: Agreement
    weights: np.ndarray | None
    names: list[str]

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        labels: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        memberships: np.ndarray | None = None,
        names: list[str] | None = None,
    ) -> Certainty:
        """Compare a clustering with the base clusterings.

        Parameters
        ----------
        ensemble : Ensemble, array-like, DataFrame or path
            The base clusterings.
        labels : array-like of shape (N,)
            A consensus, or any other clustering: 0, 1, ..., negative for none.
        weights : array-like of shape (M,) or None
            Weights of the base clusterings.
        memberships : ndarray of shape (N, k) or None
            Shares of votes, for ``vote_share``.
        names : list of str or None
            Names of the base clusterings; None uses their numbers.

        Returns
        -------
        Certainty
            Time N M + F M k for F distinct label rows; memory at most about
            (110 + 4 M) N bytes.
        """
        ensemble = as_counts(ensemble)
        labels = check_labelling(labels, ensemble.n_objects)
        n = ensemble.n_clusterings
        names = [str(m) for m in range(n)] if names is None else names
        if isinstance(names, str) or np.shape(names) != (n,):
            raise unexpected(names, "names", f"{n}, one per base clustering")
        weights = None if weights is None else check_weights(weights, n)
        histograms = Histograms.of(ensemble, labels)
        return cls(
            labels,
            *item_consensus(histograms, weights),
            None if memberships is None else _own(memberships, labels),
            histograms.sizes,
            cluster_consensus(histograms, weights),
            agreement(ensemble, labels),
            weights,
            list(names),
        )

    @property
    def margin(self) -> np.ndarray:
        """Item consensus minus next consensus, (N,); below 0, the next fits better."""
        return self.item_consensus - self.next_consensus

    def objects(self) -> Any:
        """Return a DataFrame with one row per object."""
        return _frame(
            {
                "label": self.labels,
                "item_consensus": self.item_consensus,
                "next_cluster": self.next_cluster,
                "next_consensus": self.next_consensus,
                "margin": self.margin,
                "vote_share": self.vote_share,
            }
        )

    def clusters(self) -> Any:
        """Return a DataFrame with one row per cluster."""
        return _frame(
            {
                "size": self.sizes,
                "cluster_consensus": self.cluster_consensus,
                "mean_margin": [self._mean_margin(j) for j in range(len(self.sizes))],
            }
        ).rename_axis("cluster")

    def clusterings(self) -> Any:
        """Return a DataFrame with one row per base clustering."""
        columns = {**self.agreement._asdict(), "weight": self.weights}
        return _frame(columns, self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for JSON; NaN becomes None."""
        tables: dict[str, dict[str, Any]] = {
            "objects": {
                "label": self.labels,
                "item_consensus": self.item_consensus,
                "next_cluster": self.next_cluster,
                "next_consensus": self.next_consensus,
                "vote_share": self.vote_share,
            },
            "clusters": {"size": self.sizes, "consensus": self.cluster_consensus},
            "clusterings": {
                "name": self.names,
                **self.agreement._asdict(),
                "weight": self.weights,
            },
        }
        return {
            name: {key: _plain(v) for key, v in table.items() if v is not None}
            for name, table in tables.items()
        }

    def _mean_margin(self, cluster: int) -> float:
        margin = self.margin[self.labels == cluster]
        return float(margin.mean()) if len(margin) > 1 else np.nan

    def __repr__(self) -> str:
        lines = [self._title()]
        known = self.item_consensus[np.isfinite(self.item_consensus)]
        if len(known):
            lines.append(
                f"  item consensus     mean {known.mean():.2f}, least {known.min():.2f}"
            )
        lines += _wrapped("  cluster consensus", self._shown_clusters())
        if shown := self._shown_agreement():
            lines.append(f"  agreement (NMI)    {shown}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [
            (
                str(j),
                self.sizes[j],
                notebook.Share(self.cluster_consensus[j]),
                self._mean_margin(j),
            )
            for j in self._least_sure()[: notebook.SHOWN]
        ]
        more = len(self._least_sure()) - len(rows)
        notes = [f"and {more:,} more clusters"] if more else []
        if shown := self._shown_agreement():
            notes.append(f"agreement (NMI) {shown}")
        return notebook.table(
            self._title(),
            ("cluster, least certain first", "objects", "consensus", "mean margin"),
            rows,
            "; ".join(notes),
        )

    def _title(self) -> str:
        n_out = int((self.labels < 0).sum())
        return (
            f"Certainty of {counted(len(self.labels), 'object')} in "
            f"{counted(len(self._least_sure()), 'cluster')}"
            f"{f', {n_out:,} in none' if n_out else ''}, "
            f"from {counted(len(self.names), 'base clustering')}"
        )

    def _least_sure(self) -> np.ndarray:
        """Return the clusters that have objects, the least certain first."""
        order = np.argsort(self.cluster_consensus, kind="stable")
        return order[self.sizes[order] > 0]

    def _shown_agreement(self) -> str:
        """Return the mean agreement, and the clustering that agrees least, if any."""
        nmi = self.agreement.nmi
        if not np.isfinite(nmi).any():
            return ""
        worst = int(np.nanargmin(nmi))
        return (
            f"mean {np.nanmean(nmi):.2f}, least {nmi[worst]:.2f}: "
            f"clustering {self.names[worst]}"
        )

    def _shown_clusters(self) -> list[str]:
        """Return the least certain clusters with their sizes, at most ``_SHOWN``."""
        order = self._least_sure()
        words = [
            f"{j}: {self.cluster_consensus[j]:.2f} ({self.sizes[j]:,})"
            for j in order[:_SHOWN]
        ]
        more = len(order) - _SHOWN
        return [*words, f"(lowest first, {more:,} more)"] if more > 0 else words


def _wrapped(head: str, words: list[str]) -> list[str]:
    """Return words two blanks apart below a head, in lines of at most 80 characters."""
    lines = [head]
    for word in words:
        if len(lines[-1]) + 2 + len(word) > _WIDTH:
            lines.append(" " * len(head))
        lines[-1] += f"  {word}"
    return lines


def _own(memberships: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the share of each object's own cluster, NaN without one."""
    shape, k = np.shape(memberships), int(labels.max(initial=-1)) + 1
    if len(shape) != 2 or shape[0] != len(labels) or shape[1] < k:
        msg = (
            f"memberships has shape {shape}; expected ({len(labels)}, {k}), one row "
            "per object and one column per cluster."
        )
        raise ValueError(msg)
    share = np.full(len(labels), np.nan)
    i = np.flatnonzero(labels >= 0)
    share[i] = memberships[i, labels[i]]
    return share


def _plain(values: Any) -> list:
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return [None if np.isnan(v) else v for v in values.tolist()]
    return list(values) if isinstance(values, list) else values.tolist()


def _frame(columns: dict[str, Any], index: list[str] | None = None) -> Any:
    """Return a DataFrame of the columns that are not None."""
    pandas = import_optional("pandas", "a table of certainty", "pandas")
    there = {name: column for name, column in columns.items() if column is not None}
    return pandas.DataFrame(there, index=index)
