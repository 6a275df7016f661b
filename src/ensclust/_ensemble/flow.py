"""What flows from label rows to labels: Counts, Solution, Cut, Assignment.

    label rows --count--> Counts --solve--> Solution --cut(k)--> Assignment --> labels

Everything that is quadratic or cubic happens between Counts and Cut, at the level of
base clusters or of distinct label rows. Objects are only passed over: once to count,
once to label, and for some methods a few times between (``Counts.fold``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from ensclust._ensemble.ensemble import Ensemble, Fragments


class Counts(Protocol):
    """What a method may ask of label rows, wherever they are.

    An :class:`Ensemble` answers from the labels, a ``Tally`` from what passes over
    blocks of rows added up.

    Attributes
    ----------
    in_memory : bool
        Whether the labels themselves are there: the objects can be labelled at once.
    n_objects, n_absent : int
        Objects, and those of them that no clustering contains.
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

        Raises :class:`TooManyRowsError` where they exceed the memory budget.
        """

    def fragment_codes(self) -> np.ndarray:
        """Return the distinct label rows for kernels, (F, M) unsigned."""

    def first_objects(self, labels: np.ndarray, n_labels: int) -> np.ndarray:
        """Return the first object of each label; ``labels`` are those of a Cut."""

    def fold(self, work: Callable, add: Callable, *, until: Any = None) -> Any:
        """Pass over the label rows once more.

        Parameters
        ----------
        work : callable
            ``work(rows, first)`` of some rows, an Ensemble, and the number of the first
            of them; can be sent to another process.
        add : callable
            Combines two such results, in any order.
        until : callable or None
            Ends the pass early where it is true of what came out so far.
        """

    def select(self, clusterings: np.ndarray) -> Any:
        """Return the counts of some clusterings (a mask)."""

    def present(self) -> Any:
        """Return the counts of the objects that some clustering contains."""


class Assignment(Protocol):
    """Labels of label rows: those of fit, of predict, of every block of a stream.

    Attributes
    ----------
    nbytes : int
        Bytes that it takes to send it elsewhere.
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
        """Raise ValueError where it does not fit these base clusters and labels.

        For one that comes out of a file, before a kernel follows its indices.
        """


class Cut(NamedTuple):
    """One number of clusters, cut from a solution.

    Attributes
    ----------
    assignment : Assignment
        How label rows get their labels.
    n_labels : int
        Labels are below this; some may belong to nobody.
    fitted : dict of str to object
        Fitted attributes that belong to it.
    labels : ndarray or None
        The labels, where cutting has made them already: of the objects, or for Counts
        without objects of their distinct rows.
    first : ndarray of shape (n_labels,) or None
        The first object of each label, where cutting has found them already.
    """

    assignment: Any
    n_labels: int
    fitted: dict[str, Any]
    labels: np.ndarray | None = None
    first: np.ndarray | None = None


class Solution(Protocol):
    """What a method makes of Counts; transient, nobody stores it."""

    def cut(self, n_clusters: Any, counts: Counts) -> Cut:
        """Return ``n_clusters`` clusters of the objects that were counted, or fewer.

        None, which only methods with ``info.free_k`` get, is as many as come out.
        """


class TooManyRowsError(MemoryError):
    """There are more distinct label rows than the memory budget holds."""
