"""Ensemble: an immutable table of labels, N objects by M base clusterings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, count, pairwise
from typing import Any

import numpy as np

from ensclust import _kernels
from ensclust._files.tables import read_labels
from ensclust._support import notebook, parallel
from ensclust._support.containers import as_column, table_columns
from ensclust._support.encoding import (
    as_sequence,
    comparable,
    encode_column,
    first_places,
    look_up,
    noise_of,
    pieces,
    unite,
)
from ensclust._support.validation import (
    bad_label_shape,
    check_noise,
    check_rows,
    check_threshold,
    late_noise,
    naming_index,
    no_clusterings,
    no_table,
    ragged_rows,
)

_DTYPES = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True, eq=False)
class Fragments:
    """Objects with equal label rows, as one object with a weight.

    Attributes
    ----------
    labels : ndarray of shape (F, M)
        The distinct label rows in lexicographic order, -1 for "not clustered".
    inverse : ndarray of shape (N,)
        The fragment of each object.
    counts : ndarray of shape (F,)
        The number of objects in each fragment.
    """

    labels: np.ndarray
    inverse: np.ndarray
    counts: np.ndarray


class Ensemble:
    """Many clusterings of the same objects, validated and immutable.

    Parameters
    ----------
    labels : array-like or DataFrame of shape (n_objects, n_clusterings)
        One column per base clustering: integers, strings or categories. A negative
        number, NaN or None means "not clustered here". Strings are read as in a file:
        words that pandas.read_csv treats as missing, such as "NA", are missing, and a
        column of whole numbers becomes numbers. A list of M label vectors (arrays,
        Series or Categoricals of length n_objects) means M clusterings. An Ensemble is
        used unchanged.
    noise : "missing" or "own-cluster", default="missing"
        With "own-cluster", the negative labels of a clustering, such as those of
        HDBSCAN and DBSCAN, form an extra cluster; NaN and None stay missing.

    Attributes
    ----------
    n_objects, n_clusterings, n_base_clusters : int
        N, M and Nc, the number of clusters of all base clusterings together.
    sizes : ndarray of shape (Nc,)
        Objects per base cluster; clusters are numbered clustering by clustering.
    cluster_counts : ndarray of shape (M,)
        Clusters per base clustering.
    offsets : ndarray of shape (M + 1,)
        The clusters of clustering m are ``offsets[m]`` to ``offsets[m + 1] - 1``.
    categories : tuple of M ndarrays
        The given label values of each clustering, sorted: code j stands for entry j.
    columns : ndarray of shape (M, N)
        The codes, unsigned; the sentinel ``missing`` stands for "not clustered".
    has_missing : bool
        Whether any object is left out of any clustering.
    multiplicity : ndarray of shape (N,) or None
        How many times each object counts, if ``fit`` got a ``sample_weight``; None
        means once.

    Notes
    -----
    Labels are stored once, column by column, in the smallest unsigned type: N M bytes
    if no base clustering has more than 255 clusters. Nothing else of size N is stored
    until it is needed.

    Examples
    --------
    >>> ens = Ensemble([["a", 7], ["a", 7], ["b", -1], ["b", 3]])
    >>> ens.labels
    array([[ 0,  1],
           [ 0,  1],
           [ 1, -1],
           [ 1,  0]], dtype=int32)
    >>> ens.n_base_clusters, ens.sizes.tolist()
    (4, [2, 2, 1, 2])
    >>> Ensemble([np.array([0, 0, 1]), np.array([2, 5, 5])])
    Ensemble(n_objects=3, n_clusterings=2, n_base_clusters=4)
    >>> Ensemble([[0], [1], [-1], [-1], [None]], noise="own-cluster").labels.ravel()
    array([ 1,  2,  0,  0, -1], dtype=int32)
    """

    in_memory = True  # as Counts: with labels, not only sums over them

    def __init__(self, labels: Any, *, noise: str = "missing"):
        check_noise(noise)
        if isinstance(labels, Ensemble):
            if noise != "missing":
                raise late_noise(noise, labels)
            self._adopt(labels.columns, labels.categories, labels.multiplicity)
        else:
            columns = label_columns(labels, noise)
            if not are_vectors(labels):
                check_rows(labels, len(columns[0]), len(columns))
            self._adopt(*encode_columns(columns, noise))

    @classmethod
    def from_clusterings(
        cls, clusterings: Iterable[Any], *, noise: str = "missing"
    ) -> Ensemble:
        """Build an ensemble from M label vectors of length N.

        Use it also to combine generated clusterings with existing ones.

        Examples
        --------
        >>> ens = Ensemble.from_clusterings([[0, 0, 1], ["x", "y", "y"]])
        >>> ens
        Ensemble(n_objects=3, n_clusterings=2, n_base_clusters=4)
        >>> Ensemble.from_clusterings([*ens.labels.T, [5, 5, 7]])
        Ensemble(n_objects=3, n_clusterings=3, n_base_clusters=6)
        """
        check_noise(noise)
        if not hasattr(clusterings, "__iter__"):
            raise no_clusterings(clusterings)
        return cls.from_codes(*encode_columns(_label_vectors(clusterings), noise))

    @classmethod
    def from_codes(
        cls,
        columns: np.ndarray,
        categories: Sequence[np.ndarray],
        multiplicity: np.ndarray | None = None,
    ) -> Ensemble:
        """Build an ensemble from (M, N) codes of base clusters, unchecked, not copied.

        With a ``multiplicity``, (N,) integers >= 1, each object counts that many times.
        """
        ensemble = cls.__new__(cls)
        ensemble._adopt(columns, categories, multiplicity)
        return ensemble

    def _adopt(
        self,
        columns: np.ndarray,
        categories: Sequence[np.ndarray],
        multiplicity: np.ndarray | None = None,
    ) -> None:
        columns.flags.writeable = False
        self.columns = columns
        self.categories = tuple(categories)
        self.n_clusterings, self.n_objects = columns.shape
        counts = np.array([len(values) for values in self.categories], np.int64)
        self.cluster_counts = _frozen(counts)
        self.offsets = _frozen(np.append(0, np.cumsum(counts)))
        self.n_base_clusters = int(self.offsets[-1])
        self.missing = int(np.iinfo(columns.dtype).max)
        self.places: np.ndarray | None = None
        self._overlap: np.ndarray | None = None
        self.multiplicity = multiplicity

    @property
    def labels(self) -> np.ndarray:
        """The labels as a new read-only (N, M) int32 array, -1 for "not clustered"."""
        return _outside(self.columns).T

    @cached_property
    def sizes(self) -> np.ndarray:
        """Objects per base cluster, shape (Nc,)."""
        if self.multiplicity is not None:
            return _frozen(self.intersections().diagonal().copy())
        sizes = np.zeros(self.n_base_clusters, np.int64)
        for column, first, end in zip(
            self.columns, self.offsets[:-1], self.offsets[1:], strict=True
        ):
            k = end - first
            for piece in pieces(column):
                there = np.minimum(piece, k)  # the sentinel is larger than k
                sizes[first:end] += np.bincount(there, minlength=k + 1)[:k]
        return _frozen(sizes)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any object is left out of any clustering."""
        if self.multiplicity is not None:
            return bool((self.columns == self.missing).any())
        return int(self.sizes.sum()) < self.n_objects * self.n_clusterings

    def absent(self) -> np.ndarray:
        """Return a mask of the objects that no clustering contains, shape (N,)."""
        if not self.has_missing:
            return np.zeros(self.n_objects, dtype=bool)
        return (self.columns == self.missing).all(axis=0)

    @property
    def n_absent(self) -> int:
        """The number of objects that no clustering contains."""
        return int(self.absent().sum()) if self.has_missing else 0

    def present(self) -> Ensemble:
        """Return the ensemble without the objects that no clustering contains.

        Its ``places`` map each object of this ensemble to its position there, or -1.
        """
        absent = self.absent()
        if not absent.any():
            return self
        ensemble = self.take(~absent)
        ensemble.places = _frozen(np.where(absent, -1, np.cumsum(~absent) - 1))
        return ensemble

    def take(self, rows: np.ndarray) -> Ensemble:
        """Return the ensemble of the given objects (a mask or indices).

        Categories do not change, so cluster numbers keep their meaning.
        """
        with naming_index("rows", rows, self.n_objects):
            columns = np.ascontiguousarray(self.columns[:, rows])
        times = None if self.multiplicity is None else self.multiplicity[rows]
        return Ensemble.from_codes(columns, self.categories, times)

    def select(self, clusterings: np.ndarray) -> Ensemble:
        """Return the ensemble of the given clusterings (a mask or indices)."""
        with naming_index("clusterings", clusterings, self.n_clusterings):
            numbers = np.arange(self.n_clusterings)[clusterings]
        return Ensemble.from_codes(
            self.columns[numbers],
            [self.categories[m] for m in numbers],
            self.multiplicity,
        )

    def distinct(self, threshold: float = 0.95) -> Ensemble:
        """Return the ensemble with one of each group of similar clusterings.

        Use it if inputs repeat each other for reasons unrelated to the data, such as
        twenty seeds of one resolution and one seed of another: each resolution then
        gets one vote. Runs drawn at random should not be thinned, because their
        agreement is what a consensus counts.

        Parameters
        ----------
        threshold : float, default=0.95
            Two clusterings are similar if their NMI is at least this, see
            :meth:`redundant`, which also lists the clusterings that are left out.

        Examples
        --------
        >>> ens = Ensemble([[0, 5, 0], [0, 5, 1], [1, 3, 0], [1, 3, 1]])
        >>> ens.distinct()
        Ensemble(n_objects=4, n_clusterings=2, n_base_clusters=4)
        """
        groups = self.redundant(threshold)
        dropped = [m for group in groups.values() for m in group]
        return self.select(np.setdiff1d(np.arange(self.n_clusterings), dropped))

    def redundant(self, threshold: float = 0.95) -> dict[int, list[int]]:
        """Return the clusterings that are nearly identical to another one.

        Parameters
        ----------
        threshold : float, default=0.95
            Minimum NMI, in (0, 1], of similar clusterings. At 0.95, one or two objects
            in a hundred differ, if there are 5 to 20 clusters of equal size; runs with
            different numbers of clusters are seldom that close. 1 means equal except
            for the names of clusters.

        Returns
        -------
        dict of int to list of int
            For each group, the number of the clustering that :meth:`distinct` keeps,
            and those that it leaves out. Clusterings similar to no other are not
            listed.

        Notes
        -----
        The clustering that is similar to most others is kept; ties go to the one that
        agrees best with them, then to the first. Those similar to it are left out, and
        the rest is treated the same way. So no two kept clusterings are similar, and
        each one left out is similar to a kept one. The NMI (geometric) is over the
        objects that both contain, which must be at least the share ``threshold`` of
        those that either contains, so that no clustering is left out for one that lacks
        its objects. NMI is used rather than the adjusted Rand index, in which large
        clusters hide what happens in small ones. Time N M^2 / 2, memory Nc^2 numbers.

        Examples
        --------
        >>> ens = Ensemble([[0, 5, 0], [0, 5, 1], [1, 3, 0], [1, 3, 1]])
        >>> ens.redundant()
        {0: [1]}
        """
        from ensclust._ensemble.redundancy import redundant  # noqa: PLC0415  circular

        return redundant(self, check_threshold(threshold))

    def join(self, *others: Any) -> Ensemble:
        """Return the ensemble with more clusterings of the same objects.

        Parameters
        ----------
        *others : Ensemble, or what one is made from
            Clusterings of the same objects in the same order.

        Examples
        --------
        >>> Ensemble([[0, 0], [0, 1], [1, 1]]).join([["x"], ["x"], ["y"]])
        Ensemble(n_objects=3, n_clusterings=3, n_base_clusters=6)
        """
        parts = [self, *map(_as_ensemble, others)]
        for part in parts:
            if part.n_objects != self.n_objects:
                msg = (
                    f"an ensemble of {part.n_objects} objects cannot join one of "
                    f"{self.n_objects}. Pass clusterings of the same objects, in the "
                    "same order; use concat() for other objects."
                )
                raise ValueError(msg)
            own, first = _times([part, self])
            if not np.array_equal(own, first):
                msg = (
                    "ensembles with different multiplicities cannot be joined. Use "
                    "the same sample_weight."
                )
                raise ValueError(msg)
        dtype = np.result_type(*(part.columns.dtype for part in parts))
        columns = np.concatenate([_as_type(part.columns, dtype) for part in parts])
        categories = [values for part in parts for values in part.categories]
        return Ensemble.from_codes(columns, categories, self.multiplicity)

    def concat(self, *others: Any) -> Ensemble:
        """Return the ensemble with more objects of the same clusterings.

        Parameters
        ----------
        *others : Ensemble, or what one is made from
            More objects. Clusterings correspond by position, and equal label values
            are the same base cluster.

        Notes
        -----
        If all of them have stored their :meth:`intersections`, these are added up, and
        no object is counted again.

        Examples
        --------
        >>> ens = Ensemble([["a", 7], ["b", 7]]).concat([["c", 3], ["a", None]])
        >>> ens.labels.tolist(), ens.sizes.tolist()
        ([[0, 1], [1, 1], [2, 0], [0, -1]], [2, 1, 1, 1, 2])
        """
        parts = [self, *map(_as_ensemble, others)]
        categories = self.categories
        for part in parts:
            if part.n_clusterings != self.n_clusterings:
                msg = (
                    f"an ensemble of {part.n_clusterings} clusterings cannot be "
                    f"appended to one of {self.n_clusterings}. Pass labels of the same "
                    "clusterings; use join() for other clusterings."
                )
                raise ValueError(msg)
            categories = tuple(map(unite, categories, part.categories, count()))
        dtype = _type_for(max(map(len, categories)))
        edges = np.cumsum([0, *(part.n_objects for part in parts)])
        columns = np.empty((self.n_clusterings, edges[-1]), dtype)
        for m, values in enumerate(categories):
            for part, (a, b) in zip(parts, pairwise(edges), strict=True):
                place = _places(values, part.categories[m], m)
                table: np.ndarray = np.append(place, np.iinfo(dtype).max).astype(dtype)
                known = np.minimum(part.columns[m], len(place))
                look_up(table, known, columns[m, a:b])
        weighted = any(part.multiplicity is not None for part in parts)
        times = np.concatenate(_times(parts)) if weighted else None
        ensemble = Ensemble.from_codes(columns, categories, times)
        if all(part._overlap is not None for part in parts):
            counted = [(part.categories, part._overlap) for part in parts]
            ensemble._overlap = add_overlaps(categories, counted)
        return ensemble

    def known_by(self, rows: np.ndarray) -> Ensemble:
        """Return all objects, encoded by the base clusters of some of them (a mask).

        Base clusters without any of these count as "not clustered", see :meth:`recode`.
        """
        codes, categories = np.empty_like(self.columns), []
        for m, values in enumerate(self.categories):
            k = len(values)
            is_known = np.zeros(k + 1, bool)
            is_known[np.minimum(self.columns[m, rows], k)] = True
            is_known[k] = False
            table = np.where(is_known, np.cumsum(is_known) - 1, self.missing)
            codes[m] = table[np.minimum(self.columns[m], k)]
            categories.append(values[is_known[:k]])
        return Ensemble.from_codes(codes, categories)

    def recode(self, labels: Any) -> Ensemble:
        """Return labels of other objects, numbered by the categories of this ensemble.

        A value that no object of this ensemble has counts as "not clustered".
        """
        return self.recode_columns(label_columns(labels))

    def recode_columns(self, columns: Sequence[Any]) -> Ensemble:
        """Like :meth:`recode`, for labels given as M columns."""
        if len(columns) != self.n_clusterings:
            msg = (
                f"labels has {len(columns)} columns; the ensemble has "
                f"{self.n_clusterings} clusterings. Pass one label per clustering."
            )
            raise ValueError(msg)
        noise = list(map(noise_of, self.categories))
        return self.translate(*encode_columns(columns, noise, as_names=True))

    def translate(
        self, columns: np.ndarray, categories: Sequence[np.ndarray]
    ) -> Ensemble:
        """Return (M, N) codes of other categories, numbered by those of this ensemble.

        A value that no object of this ensemble has counts as "not clustered".
        """
        codes = np.empty(columns.shape, self.columns.dtype)
        for m, (new, own) in enumerate(zip(categories, self.categories, strict=True)):
            values, known = comparable(new, own, m)
            place = np.searchsorted(known, values)
            found = place < len(known)
            found[found] = known[place[found]] == values[found]
            table = np.append(np.where(found, place, self.missing), self.missing)
            there = np.minimum(columns[m], len(new))  # the sentinel is larger
            look_up(table.astype(codes.dtype), there, codes[m])
        return Ensemble.from_codes(codes, self.categories)

    def intersections(self, *, n_jobs: int | None = None) -> np.ndarray:
        """Count the objects that each pair of base clusters shares.

        Returns
        -------
        ndarray of shape (Nc, Nc), int64
            ``|C_i ∩ C_j|``; the diagonal holds the sizes. Time N M^2 / 2 increments
            of cache-resident tables, memory Nc^2. Stored for the next call, and for
            :meth:`concat`, if that takes no more memory than the labels.
        """
        if self._overlap is None:
            overlap = self._count_intersections(n_jobs)
            if overlap.nbytes > self.columns.nbytes:
                return overlap
            self._overlap = overlap
        return self._overlap.copy()

    def _count_intersections(self, n_jobs: int | None) -> np.ndarray:
        if self.multiplicity is not None:
            return self._weighted_intersections()
        overlap = np.zeros((self.n_base_clusters, self.n_base_clusters), np.int64)
        np.fill_diagonal(overlap, self.sizes)
        pairs = np.array(list(combinations(range(self.n_clusterings), 2)), np.int64)
        pairs = pairs.reshape(-1, 2)
        spans = parallel.blocks(len(pairs), parallel.thread_count(n_jobs))
        tasks = [
            (self.columns, self.offsets, pairs[a:b, 0], pairs[a:b, 1], overlap)
            for a, b in spans
        ]
        counting = _kernels.counting
        is_narrow = self.columns.itemsize == 1
        count = counting.count_pairs_of_bytes if is_narrow else counting.count_pairs
        parallel.run(count, tasks, n_jobs=n_jobs)
        return overlap

    def _weighted_intersections(self) -> np.ndarray:
        """Count by distinct rows; sums of integers below 2**53 are exact."""
        overlap = np.zeros((self.n_base_clusters, self.n_base_clusters))
        counts = self.fragments().counts.astype(np.float64)
        _kernels.bipartite.weighted_overlap(
            self.fragment_codes(), self.offsets, counts, overlap
        )
        return overlap.astype(np.int64)

    @cached_property
    def _fragments(self) -> Fragments:
        """Rank rows in mixed radix, compressing the ranks before they overflow."""
        rank = np.zeros(self.n_objects, np.int64)
        n_ranks = 1
        for column, k in zip(self.columns, self.cluster_counts.tolist(), strict=True):
            if n_ranks * (k + 1) >= 2**62:
                values, rank = np.unique(rank, return_inverse=True)
                n_ranks = len(values)
            rank = rank * (k + 1) + np.minimum(column, k)
            n_ranks *= k + 1
        _, first, inverse, counts = np.unique(
            rank, return_index=True, return_inverse=True, return_counts=True
        )
        if self.multiplicity is not None:
            counts = np.zeros(len(first), np.int64)
            np.add.at(counts, inverse, self.multiplicity)
        labels = np.ascontiguousarray(_outside(self.columns[:, first]).T)
        return Fragments(_frozen(labels), _frozen(inverse), _frozen(counts))

    def fragments(self) -> Fragments:
        """Group the objects with equal label rows, in lexicographic order of the rows.

        Computed once and stored: 8 N bytes and F M labels; time a few sorts of N
        integers. "Not clustered" sorts after every label.
        """
        return self._fragments

    def fragment_codes(self) -> np.ndarray:
        """Return the fragments' label rows for kernels, (F, M) unsigned.

        "Not clustered" in clustering m is n_m here, its number of clusters.
        """
        labels = self.fragments().labels
        dtype = np.min_scalar_type(int(self.cluster_counts.max()))
        return np.where(labels < 0, self.cluster_counts, labels).astype(dtype)

    def fold(self, work: Callable, add: Callable, *, until: Any = None) -> Any:
        """Return ``work(rows, first)`` of all label rows, which are one block here."""
        return work(self, 0)

    def first_objects(self, labels: np.ndarray, n_labels: int) -> np.ndarray:
        """Return the first object of each label, NOWHERE if there is none."""
        return first_places(labels, n_labels)

    def __len__(self) -> int:
        return self.n_objects

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        times: list[Any] = [self.multiplicity, other.multiplicity]
        return np.array_equal(self.columns, other.columns) and np.array_equal(*times)

    def __getstate__(self) -> dict:
        """Return what cannot be recomputed: neither sizes nor fragments."""
        kept = ("columns", "categories", "places", "multiplicity")
        return {name: vars(self)[name] for name in kept}

    def __setstate__(self, state: dict) -> None:
        """Restore a pickled ensemble, making its arrays read-only again."""
        self._adopt(state["columns"], state["categories"], state.get("multiplicity"))
        self.places = state["places"]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Ensemble(n_objects={self.n_objects}, n_clusterings={self.n_clusterings}, "
            f"n_base_clusters={self.n_base_clusters})"
        )

    def _repr_html_(self) -> str:
        rows = []
        for m, k in enumerate(self.cluster_counts[: notebook.SHOWN]):
            sizes = self.sizes[self.offsets[m] :][:k]
            n_in = int(sizes.sum())
            largest = notebook.Share(sizes.max(initial=0) / self.n_objects)
            rows.append((str(m), k, largest, self.n_objects - n_in))
        more = self.n_clusterings - len(rows)
        return notebook.table(
            f"Ensemble: {self.n_objects:,} objects, {self.n_clusterings:,} "
            f"clusterings, {self.n_base_clusters:,} base clusters",
            ("clustering", "clusters", "share of the largest", "not clustered"),
            rows,
            f"and {more:,} more" if more else "",
        )


def as_counts(labels: Any) -> Any:
    """Return Counts, such as an ensemble, unchanged; anything else as an ensemble."""
    return labels if hasattr(labels, "intersections") else Ensemble(labels)


def _as_ensemble(labels: Any) -> Ensemble:
    return labels if isinstance(labels, Ensemble) else Ensemble(labels)


def _times(parts: list[Ensemble]) -> list[np.ndarray]:
    """Return how many times the objects of each ensemble count."""
    return [
        np.ones(part.n_objects, np.int64)
        if part.multiplicity is None
        else part.multiplicity
        for part in parts
    ]


def add_overlaps(values: Sequence[np.ndarray], parts: Sequence[tuple]) -> np.ndarray:
    """Add up intersections of the same clusterings for different objects.

    Parameters
    ----------
    values : sequence of M ndarrays
        The label values of all parts together, sorted.
    parts : sequence of (values, overlap)
        The label values of each part, and its intersections.
    """
    offsets = np.cumsum([0, *map(len, values)])
    total = np.zeros((offsets[-1], offsets[-1]), np.int64)
    for own, overlap in parts:
        if len(overlap) == len(total):
            total += overlap
        else:
            at = globally(map(_places, values, own, count()), offsets)
            total[np.ix_(at, at)] += overlap
    return total


def _places(values: np.ndarray, own: np.ndarray, m: int) -> np.ndarray:
    """Return the positions of label values among all values of clustering m."""
    own, values = comparable(own, values, m)
    return np.searchsorted(values, own)


def globally(places: Iterable[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Return positions within clusterings as positions among all base clusters."""
    return np.concatenate(list(map(np.add, offsets[:-1], places))).astype(np.int64)


def encode_columns(
    columns: Sequence[Any], noise: str | list[str], *, as_names: bool = False
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return (M, N) codes in the smallest unsigned type, and the label values.

    ``noise`` is one value for all columns, or one per column.
    """
    each = [noise] * len(columns) if isinstance(noise, str) else noise
    codes = np.empty((len(columns), len(columns[0])), _DTYPES[0])
    categories = []
    for m, column in enumerate(columns):
        code, values = encode_column(column, m, each[m], as_names=as_names)
        categories.append(values)
        if len(values) > np.iinfo(codes.dtype).max:
            codes = _widen(codes, len(values))
        np.copyto(codes[m], code, casting="unsafe")  # -1 becomes the sentinel
    return codes, categories


def _widen(codes: np.ndarray, n_clusters: int) -> np.ndarray:
    """Convert codes to a type that holds ``n_clusters`` values and the sentinel."""
    return _as_type(codes, _type_for(n_clusters))


def _type_for(n_clusters: int) -> type:
    return next(t for t in _DTYPES if np.iinfo(t).max >= n_clusters)


def _as_type(codes: np.ndarray, dtype: Any) -> np.ndarray:
    """Return codes in another type, with the sentinel as its largest value."""
    wide = codes.astype(dtype)
    wide[codes == np.iinfo(codes.dtype).max] = np.iinfo(dtype).max
    return wide


def _outside(codes: np.ndarray) -> np.ndarray:
    """Return codes as read-only int32 with -1 for the sentinel."""
    labels = codes.astype(np.int32)
    labels[codes == np.iinfo(codes.dtype).max] = -1
    return _frozen(labels)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def label_columns(labels: Any, noise: str = "own-cluster") -> list[Any]:
    """Return the M columns of a label table, each (N,), for :func:`encode_column`.

    ``labels`` is an array-like, a DataFrame, a list of label vectors, or the path of a
    file that :func:`ensclust.io.read_labels` reads.
    """
    if are_vectors(labels):
        return _label_vectors(labels)
    if isinstance(labels, str | os.PathLike):
        return read_labels(labels).label_columns(noise)
    if hasattr(labels, "obs") and hasattr(labels, "obsm"):  # AnnData
        msg = (
            f"labels is an {type(labels).__name__}. Use ensclust.scverse.consensus("
            "adata, keys=[...]), or pass its columns, adata.obs[[...]]."
        )
        raise TypeError(msg)
    columns = table_columns(labels)
    if columns is None:
        labels = _table(labels)
        columns = list(labels.T)
    if len(labels.shape) != 2 or 0 in labels.shape:
        raise bad_label_shape(labels.shape)
    return columns


def are_vectors(labels: Any) -> bool:
    """Whether these are label vectors, one per clustering, rather than rows."""
    is_list = isinstance(labels, list | tuple) or (
        isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == object
    )
    return is_list and any(
        hasattr(vector, "__array__") and getattr(vector, "ndim", 1) == 1
        for vector in labels
    )


def _label_vectors(clusterings: Iterable[Any]) -> list[Any]:
    """Return label vectors of the same objects as columns of equal length, or raise."""
    vectors = [as_sequence(vector) for vector in clusterings]
    lengths = [len(vector) for vector in vectors]
    for m, length in enumerate(lengths):
        if length != lengths[0]:
            msg = (
                f"clusterings[{m}] has {length} labels, clusterings[0] has "
                f"{lengths[0]}. All clusterings must label the same objects; "
                "use -1 where one leaves an object out."
            )
            raise ValueError(msg)
    if not vectors or not lengths[0]:
        raise bad_label_shape((0, len(vectors)))
    _check_index(vectors)
    columns = list(map(as_column, vectors))
    for column in columns:
        if column.ndim != 1:
            msg = (
                f"a clustering has shape {column.shape}; expected one label per "
                "object. For an (N, M) table of labels use Ensemble(labels)."
            )
            raise ValueError(msg)
    return columns


def _check_index(vectors: list[Any]) -> None:
    """Raise if pandas Series have different indices."""
    named = [(m, v.index) for m, v in enumerate(vectors) if hasattr(v, "iloc")]
    for m, index in named[1:]:
        if not index.equals(named[0][1]):
            msg = (
                f"clusterings[{m}] has another index than clusterings[{named[0][0]}]. "
                "Align them with pandas.concat(clusterings, axis=1), or pass arrays, "
                "series.to_numpy(), to match them by position."
            )
            raise ValueError(msg)


def _table(labels: Any) -> np.ndarray:
    if hasattr(labels, "toarray"):
        msg = (
            f"labels is a sparse {type(labels).__name__}. Pass a dense table of "
            "labels, (n_objects, n_clusterings)."
        )
        raise TypeError(msg)
    try:
        table = labels if isinstance(labels, np.ndarray) else np.asarray(labels)
    except ValueError as error:
        raise ragged_rows(labels) from error
    if table.ndim == 0:
        raise no_table(labels)
    is_list = not isinstance(labels, np.ndarray)
    is_huge = table.dtype.kind == "f" and is_list and (np.abs(table) >= 2.0**53).any()
    if is_list and (is_huge or table.dtype.kind in "US"):
        # Integers may have become floats; [[1, "a"], ...] would turn 1 into "1".
        table = np.asarray(labels, dtype=object)
    return table
