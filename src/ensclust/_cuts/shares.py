"""Label rows distributed among clusters by their base clusters; the largest wins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ensclust import _kernels
from ensclust._ensemble.contents import check_array
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts
from ensclust._support import parallel


@dataclass(frozen=True, eq=False)
class Shares:
    """An Assignment: base clusters distribute a row among columns; the largest wins.

    Of shares that are equal up to rounding, that of the first column wins. Columns that
    win no object are left out when columns are numbered, so that new objects cannot
    fall into them either.

    Attributes
    ----------
    table : ndarray of shape (Nc, k)
        What each base cluster adds to each column.
    names : ndarray of shape (k,)
        The label of each column.
    """

    fitted: ClassVar[dict[str, Any]] = {}

    table: np.ndarray
    names: np.ndarray

    @classmethod
    def of(cls, table: np.ndarray) -> Shares:
        """Return shares whose columns have their own numbers as labels."""
        return cls(table, np.arange(table.shape[1], dtype=np.int32))

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self.table.nbytes + self.names.nbytes

    def renumbered(self, rank: np.ndarray) -> Shares:
        """Return the same with other numbers of clusters, without those below 0."""
        names = np.asarray(rank, np.int32)[self.names]
        used = names >= 0
        table = np.ascontiguousarray(self.table[:, used])
        return replace(self, table=table, names=names[used])

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless each base cluster has a share for each column."""
        k = len(self.names)
        check_array("table", self.table, (counts.n_base_clusters, k), kinds="f", low=0)
        check_array("names", self.names, (k,), low=0, stop=n_clusters)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of largest share, -1 without any; time M k per row."""
        winner = np.empty(rows.n_objects, np.int32)
        self._run(_kernels.shares.largest, rows, winner, n_jobs)
        return np.append(self.names, np.int32(-1))[winner]

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the shares, which sum to 1, or 0 without any; memory 8 N k."""
        shares = np.empty((rows.n_objects, len(self.names)))
        self._run(_kernels.shares.share, rows, shares, n_jobs)
        if np.array_equal(self.names, np.arange(len(self.names))):
            return shares
        named = np.zeros((rows.n_objects, int(self.names.max(initial=-1)) + 1))
        named[:, self.names] = shares
        return named

    def _run(self, kernel, rows: Ensemble, out: np.ndarray, n_jobs) -> None:
        spans = parallel.blocks(rows.n_objects, parallel.thread_count(n_jobs))
        shared = (rows.columns, rows.offsets, self.table, out)
        parallel.run_spans(kernel, spans, shared, n_jobs=n_jobs)


def steady(values: np.ndarray) -> np.ndarray:
    """Round to 42 binary digits of the largest value, at least 0.

    Equal sums then stay equal, in whatever order BLAS adds.
    """
    unit = 2.0 ** (np.frexp(values.max(initial=0))[1] - 42)
    return np.rint(values / unit) * unit
