"""Agreement of base clusterings with a clustering or with each other, from counts."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.ensemble import Ensemble, as_counts
from ensclust._ensemble.flow import Counts
from ensclust._support.validation import check_labelling, check_weights


def _geometric_mean(one: float, other: float) -> float:
    return np.sqrt(one * other)


class Agreement(NamedTuple):
    """How each base clustering agrees with a clustering of all objects.

    Attributes
    ----------
    nmi, ari, ecs : ndarray of shape (M,)
        Normalised mutual information (geometric), adjusted Rand index and
        element-centric similarity, each on the objects that both contain; NaN if there
        are none.
    """

    nmi: np.ndarray
    ari: np.ndarray
    ecs: np.ndarray


def agreement(ensemble: Ensemble, labels: npt.ArrayLike) -> Agreement:
    """Compare each base clustering with one clustering, on the objects it contains.

    Time N M, memory about 40 N bytes; no table of N objects by k clusters.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> agreement(ensemble, [0, 0, 1, 1]).ari
    array([ 1. , -0.5])
    """
    ensemble = as_counts(ensemble)
    return agreement_of(ensemble, contingency(ensemble, labels))


def agreement_of(ensemble: Counts, counts: np.ndarray) -> Agreement:
    """Compute :func:`agreement` from the counts of :func:`contingency`, (k, Nc)."""
    tables = [counts[:, first:last] for first, last in spans(ensemble)]
    measures = table_nmi, table_ari, table_ecs
    return Agreement(
        *(np.array([measure(table) for table in tables]) for measure in measures)
    )


def agreement_weights(ensemble: Any, labels: npt.ArrayLike | None = None) -> np.ndarray:
    """Derive weights of the base clusterings from how well they agree.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or path
        The base clusterings, as in :func:`ensclust.consensus`.
    labels : array-like of shape (N,) or None
        A clustering to compare with, such as a consensus; negative means "not
        clustered". None compares each clustering with all others.

    Returns
    -------
    ndarray of shape (M,)
        The square of the (mean) normalised mutual information, scaled to a mean of 1.
        All 1 if there is no agreement at all.

    Notes
    -----
    Without ``labels`` this is the crowd agreement of Huang, Lai and Wang (2015),
    squared so that a clustering that no other supports loses most of its influence.
    Only support by the others counts: in a mostly bad ensemble, the good part is
    outvoted. Two clusterings are compared on the objects that both contain, if any.
    Time N M^2 / 2 and memory Nc^2 numbers, or time N M with ``labels``.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Combining multiple clusterings via crowd agreement
    estimation and multi-granularity link analysis. Neurocomputing 170, 2015.
    doi:10.1016/j.neucom.2014.05.094

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> good, bad = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    >>> agreement_weights(Ensemble.from_clusterings([good, good, bad])).round(2)
    array([1.48, 1.48, 0.03])
    """
    ensemble = as_counts(ensemble)
    nmi = _crowd_nmi(ensemble) if labels is None else agreement(ensemble, labels).nmi
    weights = np.nan_to_num(nmi) ** 2
    return weights / weights.mean() if weights.any() else np.ones(len(weights))


def contingency(ensemble: Ensemble, labels: npt.ArrayLike) -> np.ndarray:
    """Count the objects that each cluster of ``labels`` shares with each base cluster.

    Returns
    -------
    ndarray of shape (k, Nc), int64
        Objects with a negative label are not counted. Time N M, memory about 40 N bytes
        in addition to the result.
    """
    labels = check_labelling(labels, ensemble.n_objects)
    n_clusters = int(labels.max(initial=-1)) + 1
    table = np.empty((n_clusters, ensemble.n_base_clusters), np.int64)
    for m, (first, last) in enumerate(spans(ensemble)):
        k = last - first
        # An extra row and column for the objects that either leaves out.
        row = np.where(labels < 0, n_clusters, labels) * (k + 1)
        cells = row + np.minimum(ensemble.columns[m], k)
        counts = np.bincount(
            cells, ensemble.multiplicity, minlength=(n_clusters + 1) * (k + 1)
        )
        table[:, first:last] = counts.reshape(-1, k + 1)[:n_clusters, :k]
    return table


def mean_nmi(
    ensemble: Ensemble, labels: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the mean over base clusterings of the NMI (geometric) with ``labels``.

    Known as ANMI. Each NMI is over the objects that both contain, 0 if there are none;
    negative labels mean "not clustered". Time N M. The NMI with a clustering of one
    cluster is 0, unless all labels are equal too.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 2], [1, 2]])
    >>> round(mean_nmi(ensemble, np.array([0, 0, 1, 1])), 4)
    0.9082
    """
    ensemble = as_counts(ensemble)
    if weights is not None:
        weights = check_weights(weights, ensemble.n_clusterings)
    scores = np.nan_to_num(agreement(ensemble, labels).nmi)
    return float(np.average(scores, weights=weights))


def table_nmi(table: np.ndarray, scale: Callable = _geometric_mean) -> float:
    """Return the NMI of a contingency table: 1 for one cell, 0 for one line, or NaN.

    ``scale`` computes the divisor from the two entropies.
    """
    return counts_nmi(table, table.sum(axis=1), table.sum(axis=0), scale)


def counts_nmi(
    cells: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    scale: Callable = _geometric_mean,
) -> float:
    """Compute :func:`table_nmi` from the counts of the cells and the table's sums."""
    if not rows.sum():
        return np.nan
    joint, one, other = entropy(cells), entropy(rows), entropy(columns)
    if one == 0 or other == 0:
        return float(joint == 0)
    return float((one + other - joint) / scale(one, other))


def table_ari(table: np.ndarray) -> float:
    """Return the adjusted Rand index of a contingency table, NaN if it is empty."""
    return counts_ari(table, table.sum(axis=1), table.sum(axis=0))


def counts_ari(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> float:
    """Compute :func:`table_ari` from the counts of the cells and the table's sums."""
    n = int(rows.sum())
    if not n:
        return np.nan
    together, in_row, in_column = (
        int((counts.astype(np.int64) ** 2).sum()) - n
        for counts in (cells, rows, columns)
    )
    if in_row == in_column == together:  # the same partition, even if trivial
        return 1.0
    expected = in_row * in_column / (n * (n - 1))
    return (together - expected) / ((in_row + in_column) / 2 - expected)


def table_ecs(table: np.ndarray) -> float:
    """Return the element-centric similarity of a contingency table, NaN if empty.

    Per object: the size of the overlap of its two clusters divided by that of the
    larger.
    """
    n = int(table.sum())
    if not n:
        return np.nan
    larger = np.maximum(table.sum(axis=1)[:, None], table.sum(axis=0))
    return float((table * (table / np.maximum(larger, 1))).sum() / n)


def element_shares(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the element-centric similarity of each object, (N,), NaN without a label.

    Labels are integers, negative for none. Time of one sort, memory linear in N.
    """
    shares = np.full(len(one), np.nan)
    both = np.flatnonzero((one >= 0) & (other >= 0))
    if len(both):
        one, other = one[both].astype(np.int64), other[both].astype(np.int64)
        cells = one * (int(other.max()) + 1) + other
        _, cell, shared = np.unique(cells, return_inverse=True, return_counts=True)
        larger = np.maximum(np.bincount(one)[one], np.bincount(other)[other])
        shares[both] = shared[cell] / larger
    return shares


def pairwise_nmi(ensemble: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the NMI of each pair of clusterings, (M, M), from one pass over them.

    Two clusterings are compared on the objects that both contain; NaN without any.
    Time N M^2 / 2, memory Nc^2 numbers.
    """
    return _pairwise(ensemble, _geometric_mean, n_jobs)


def _pairwise(ensemble: Counts, scale: Callable, n_jobs: int | None) -> np.ndarray:
    overlap = ensemble.intersections(n_jobs=n_jobs)
    blocks = list(spans(ensemble))
    scores = np.eye(len(blocks))
    for m, (first, last) in enumerate(blocks):
        for q, (left, right) in enumerate(blocks[:m]):
            table = overlap[first:last, left:right]
            scores[m, q] = scores[q, m] = table_nmi(table, scale)
    return scores


def crowd_agreement(ensemble: Counts, *, n_jobs: int | None = None) -> np.ndarray:
    """Return the normalised crowd agreement of each clustering, (M,), at most 1.

    The mean NMI with the others (by the larger of the two entropies), divided by the
    largest such mean (NCAI of Huang, Lai and Wang 2015). All 1 without any agreement.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> good, bad = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    >>> crowd_agreement(Ensemble.from_clusterings([good, good, bad])).round(2)
    array([1.  , 1.  , 0.15])
    """
    nmi = _crowd_nmi(ensemble, max, n_jobs)
    return nmi / nmi.max() if nmi.any() else np.ones(len(nmi))


def _crowd_nmi(
    ensemble: Counts, scale: Callable = _geometric_mean, n_jobs: int | None = None
) -> np.ndarray:
    """Return the mean NMI of each clustering with the others, (M,)."""
    scores = _pairwise(ensemble, scale, n_jobs)
    np.fill_diagonal(scores, np.nan)
    n_compared = np.isfinite(scores).sum(axis=1)
    return np.nansum(scores, axis=1) / np.maximum(n_compared, 1)


def spans(ensemble: Counts) -> Iterator[tuple[int, int]]:
    """Yield the range of the base clusters of each clustering."""
    return pairwise(ensemble.offsets.tolist())


def entropy(counts: np.ndarray) -> float:
    """Return the entropy of counts, exactly 0 if only one is positive."""
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum()) + 0.0
