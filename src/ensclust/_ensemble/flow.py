"""What flows from label rows to labels: Counts, Solution, Cut, Assignment.

    label rows --count--> Counts --solve--> Solution --cut(k)--> Assignment --> labels

Everything quadratic or cubic happens between Counts and Cut, at the level of base
clusters or of distinct label rows. Objects are only read in passes: one to count, one
to label, and for some methods a few in between (``Counts.fold``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ensclust._ensemble.ensemble import Ensemble, Fragments


class Counts(Protocol):
    """What a method may ask of label rows, wherever they are.

    An :class:`Ensemble` answers from the labels, a ``Tally`` from sums collected in
    passes over blocks of rows.

    Attributes
    ----------
    in_memory : bool
        Whether the labels themselves are in memory, so objects can be labelled at once.
    n_objects, n_absent : int
        Number of objects, and of those that no clustering contains.
    n_clusterings, n_base_clusters : int
        M and Nc.
    cluster_counts, offsets, sizes, categories
        As those of an :class:`Ensemble`.
    has_missing : bool
        Whether any object is left out of any clustering.
    """

    in_memory: bool
    n_objects: int
    n_clusterings: int
    n_base_clusters: int
    cluster_counts: np.ndarray
    offsets: np.ndarray
    categories: tuple[np.ndarray, ...]

    @property
    def n_absent(self) -> int: ...

    @property
    def sizes(self) -> np.ndarray: ...

    @property
    def has_missing(self) -> bool: ...

    def intersections(self, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the objects that each pair of base clusters shares, (Nc, Nc)."""

    def fragments(self) -> Fragments:
        """Return the distinct label rows with their numbers of objects.

        Raises :class:`TooManyRowsError` if they exceed the memory budget.
        """

    def fragment_codes(self) -> np.ndarray:
        """Return the distinct label rows for kernels, (F, M) unsigned."""

    def first_objects(self, labels: np.ndarray, n_labels: int) -> np.ndarray:
        """Return the first object of each label; ``labels`` come from a Cut."""

    def fold(self, work: Callable, add: Callable, *, until: Any = None) -> Any:
        """Make another pass over the label rows.

        Parameters
        ----------
        work : callable
            ``work(rows, first)`` gets some rows, an Ensemble, and the number of the
            first one; it can be sent to another process.
        add : callable
            Combines two such results, in any order.
        until : callable or None
            Ends the pass early if it is true of the result so far.
        """

    def select(self, clusterings: np.ndarray) -> Any:
        """Return the counts of some clusterings (a mask)."""

    def present(self) -> Any:
        """Return the counts of the objects that some clustering contains."""


class Assignment(Protocol):
    """Assigns labels to label rows: in fit, in predict, in every block of a stream.

    Attributes
    ----------
    nbytes : int
        Its size in bytes when sent to another process.
    fitted : dict
        Fitted attributes that follow the numbering of the labels.
    """

    @property
    def nbytes(self) -> int: ...

    @property
    def fitted(self) -> dict[str, Any]: ...

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of each row, (n,) int32; -1 for none."""

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the share of each cluster in each row, (n, k) float64."""

    def renumbered(self, rank: np.ndarray) -> Any:
        """Return the assignment with label j called ``rank[j]``."""

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise ValueError if it does not fit these base clusters and labels.

        For an assignment from a file, before a kernel uses its indices.
        """


class Cut(NamedTuple):
    """One number of clusters, cut from a solution.

    Attributes
    ----------
    assignment : Assignment
        How label rows get their labels.
    n_labels : int
        Labels are below this; some may not occur.
    fitted : dict of str to object
        Fitted attributes that belong to it.
    labels : ndarray or None
        The labels, if cutting has computed them already: of the objects, or of the
        distinct rows if the Counts have no objects.
    first : ndarray of shape (n_labels,) or None
        The first object of each label, if cutting has found them already.
    """

    assignment: Any
    n_labels: int
    fitted: dict[str, Any]
    labels: np.ndarray | None = None
    first: np.ndarray | None = None


class Solution(Protocol):
    """What a method makes of Counts; transient, never stored."""

    def cut(self, n_clusters: Any, counts: Counts) -> Cut:
        """Return ``n_clusters`` clusters of the objects that were counted, or fewer.

        None, only for methods with ``info.free_k``, leaves the number to the method.
        """


class TooManyRowsError(MemoryError):
    """The distinct label rows exceed the memory budget."""
