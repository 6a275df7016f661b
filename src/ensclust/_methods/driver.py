"""The one way from label rows to labels: count, solve, cut, number, label.

Arrays are one block, Blocks and Dask arrays many; a method sees Counts of either.
fit, predict, consensus(), streams and the command line all take these steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ensclust._cuts.voting import Vote
from ensclust._ensemble.alignment import align
from ensclust._ensemble.contents import check_array
from ensclust._ensemble.ensemble import Ensemble
from ensclust._stream.blocks import as_blocks
from ensclust._stream.counting import Encoding, checkpoint_of, tally
from ensclust._support import memory
from ensclust._support.encoding import (
    NOWHERE,
    first_places,
    look_up,
    pieces,
    ranks,
)
from ensclust._support.kinds import is_stream
from ensclust._support.validation import warn
from ensclust._trees.coassociation import DEFAULT_MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable

    from ensclust._ensemble.flow import Assignment, Counts, Cut
    from ensclust._methods.base import Method


_NEARLY_ALL = 0.95  # share of the objects in one cluster from which a cut is doubtful,
_MOST = 0.8  # and that of the largest cluster of an input that does not justify it
_ROUNDING = 1e-9  # by which a share may fall short of the required one
_SHARES = 2**22  # that are processed together: 32 MB


class Found(NamedTuple):
    """The result for one number of clusters.

    Attributes
    ----------
    assignment : Assignment
        How label rows get their labels, numbered by first appearance.
    n_clusters : int
        The number of clusters.
    fitted : dict of str to object
        Fitted attributes.
    labels : ndarray of shape (N,) or None
        The labels of all objects, -1 for none; None for a stream.
    """

    assignment: Assignment
    n_clusters: int
    fitted: dict[str, Any]
    labels: Any


@dataclass(frozen=True, eq=False)
class Solved:
    """The results for all numbers of clusters.

    Attributes
    ----------
    counts : Counts
        The label rows: an Ensemble, or the counts of a stream.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings.
    cuts : list of Found
        One for each number of clusters.
    """

    counts: Any
    weights: np.ndarray | None
    cuts: list[Found]

    def labels(self, names: list[str] | None = None) -> Any:
        """Return the labels: a column for each name, or, without names, only the first.

        An array, or, for a stream, what computes it block by block.
        """
        cuts = self.cuts if names else self.cuts[:1]
        if not self.counts.in_memory:
            assignments = [found.assignment for found in cuts]
            n_clusters = [found.n_clusters for found in cuts]
            return self.counts.label_stream(assignments, n_clusters, names)
        columns = [found.labels for found in cuts]
        return np.column_stack(columns) if names else columns[0]


def count(model: Method, labels: Any, ks: list, checkpoint: Any = None) -> Any:
    """Return the Counts of label rows: an Ensemble, or the tally of a stream.

    ``labels`` is what :func:`ensclust.consensus` takes. Raises, before anything is
    read, for what a stream cannot do.
    """
    if not is_stream(labels):
        return Ensemble(labels, noise=model.noise)
    model._check_stream(ks)
    blocks = as_blocks(labels)
    return tally(
        blocks,
        Encoding(model.noise),
        checkpoint=None if checkpoint is None else checkpoint_of(blocks, checkpoint),
        budget=getattr(model, "max_memory", DEFAULT_MEMORY),
    )


def solve(
    model: Method,
    whole: Any,
    ks: list,
    seed: int,
    choose: Callable[[Any, int], tuple[int, dict[str, Any]]] | None = None,
) -> Solved:
    """Solve the counts, cut for each k, and number clusters by first appearance.

    ``seed`` determines the method's random choices. ``choose``, if there are features,
    finds the number that "auto" means, given the label rows and a seed. The model is
    not changed.
    """
    size = whole.n_objects, whole.n_clusterings if whole.in_memory else 0
    ks = [model._check_k(k, *size) for k in ks]
    weights = model._find_weights(whole)
    used = None if weights is None or weights.all() else weights > 0
    chosen = whole if used is None else whole.select(used)
    if chosen.n_absent:
        warn(
            f"{chosen.n_absent} of {whole.n_objects} objects are in no base "
            "clustering; their consensus label is -1."
        )
    if chosen.n_absent == whole.n_objects:
        return Solved(whole, weights, [_nobody(chosen, seed, used)] * len(ks))
    counts = chosen.present()
    require_memory(model, counts)
    own = None if weights is None else weights[weights > 0]
    solution = model._solve(counts, weights=own, seed=seed)
    cuts = []
    for k in ks:
        n_clusters: Any = k
        fitted: dict[str, Any] = {}
        if k == "auto" and choose is not None:
            n_clusters, fitted = choose(chosen, seed)
        elif isinstance(k, str):
            n_clusters, fitted = model._number_of(k, counts, solution, seed)
        wanted = None if n_clusters is None else min(n_clusters, counts.n_objects)
        found = numbered(solution.cut(wanted, counts), counts, model.n_jobs)
        if wanted is not None and found.n_clusters < wanted:
            warn(
                f"{type(model).__name__} formed {found.n_clusters} of "
                f"n_clusters={wanted} clusters: these base clusterings yield no more."
            )
        doubt_a_lump(model, found, counts)
        cuts.append(
            found._replace(
                assignment=selected(found.assignment, used),
                fitted=found.fitted | fitted,
                labels=_of_all(found.labels, chosen, counts),
            )
        )
    return Solved(whole, weights, cuts)


def solve_weighted(
    model: Method, whole: Ensemble, times: np.ndarray, ks: list, seed: int
) -> Solved:
    """Like :func:`solve`, with each object counted ``times``, (N,), times.

    Objects that do not count are labelled afterwards, like new objects.
    """
    used = times > 0
    whole = whole.known_by(used)
    some = whole.take(used)
    repeated = Ensemble.from_codes(some.columns, some.categories, times[used])
    solved = solve(model, repeated, ks, seed)
    cuts = []
    for found in solved.cuts:
        labels = np.empty(len(used), np.int32)
        labels[used] = found.labels
        if not used.all():
            rest = whole.take(~used)
            labels[~used] = found.assignment.label(rest, n_jobs=model.n_jobs)
        cuts.append(found._replace(labels=labels))
    return Solved(whole, solved.weights, cuts)


def refer(solved: Solved, reference: np.ndarray) -> Solved:
    """Give the clusters the numbers that a reference, (N,), has for their objects."""
    cuts = []
    for found in solved.cuts:
        labels = align(found.labels, reference)
        rank = np.full(found.n_clusters, -1, np.int32)
        rank[found.labels[labels >= 0]] = labels[labels >= 0]
        assignment = found.assignment.renumbered(rank)
        fitted = found.fitted | assignment.fitted
        cuts.append(
            Found(assignment, found.n_clusters, fitted, labels.astype(np.int32))
        )
    return replace(solved, cuts=cuts)


def leave_out(solved: Solved, model: Method) -> Solved:
    """Label objects -1 whose share in their cluster is below ``min_certainty``.

    Clusters keep their numbers, even if one has no object left.
    """
    least = getattr(model, "min_certainty", None)
    if least is None:
        return solved
    cuts = []
    for found in solved.cuts:
        sure = Sure(found.assignment, float(least))
        labels = found.labels
        if labels is not None:
            labels = sure.of(solved.counts, labels, model.n_jobs)
            n_empty = found.n_clusters - len(np.unique(labels[labels >= 0]))
            if n_empty:
                warn(
                    f"min_certainty={least:g} leaves {n_empty} of {found.n_clusters} "
                    "clusters without objects."
                )
        cuts.append(found._replace(assignment=sure, labels=labels))
    return replace(solved, cuts=cuts)


def doubt_a_lump(model: Method, found: Found, counts: Any) -> None:
    """Warn if nearly all objects are in one cluster, contrary to the inputs.

    Only inputs that are as coarse count, whose k largest clusters hold nearly all
    objects: finer ones have small clusters, whatever the consensus.
    """
    if not counts.in_memory or found.n_clusters < 2:
        return
    given = counts.multiplicity
    times = repeat(None) if given is None else pieces(given)
    sizes = np.zeros(found.n_clusters)
    for part, own in zip(pieces(found.labels), times, strict=False):
        sizes += np.bincount(part + 1, own, found.n_clusters + 1)[1:]
    largest, n_objects = int(sizes.max()), int(sizes.sum())
    enough = _NEARLY_ALL * n_objects
    if largest < enough:
        return
    inputs = [np.sort(counts.sizes[a:b])[::-1] for a, b in pairwise(counts.offsets)]
    coarse = [own[0] for own in inputs if own[: found.n_clusters].sum() >= enough]
    if coarse and max(coarse) <= _MOST * n_objects:
        warn(
            f"{type(model).__name__} put {largest} of {n_objects} objects into one "
            f"cluster; no base clustering of about {found.n_clusters} clusters puts "
            f"more than {max(coarse)} into one. Compare it with other methods."
        )


def numbered(cut: Cut, counts: Any, n_jobs: int | None) -> Found:
    """Give the clusters of a cut numbers, in the order of their first objects."""
    labels: Any = cut.labels
    assignment = cut.assignment
    if labels is None and counts.in_memory:
        labels = assignment.label(counts, n_jobs=n_jobs)
    first = cut.first
    if first is None and labels is not None:
        first = counts.first_objects(labels, cut.n_labels)
    elif first is None:
        work = partial(_firsts, assignment=assignment, n_labels=cut.n_labels)
        first = counts.fold(work, np.minimum, until=_all_found)
    rank, n_clusters = ranks(first)
    if not np.array_equal(rank, np.arange(len(rank))):
        assignment = assignment.renumbered(rank)
        if labels is not None and counts.in_memory:
            labels = look_up(rank, labels, labels)
    if counts.in_memory:
        labels = labels.astype(np.int32, copy=False)
    return Found(assignment, n_clusters, cut.fitted | assignment.fitted, labels)


@dataclass(frozen=True, eq=False)
class Around:
    """An Assignment based on another one."""

    assignment: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the assignment."""
        return self.assignment.nbytes

    @property
    def fitted(self) -> dict[str, Any]:
        """Those of the assignment."""
        return self.assignment.fitted

    def renumbered(self, rank: np.ndarray) -> Self:
        """Return the same with other numbers of clusters."""
        return replace(self, assignment=self.assignment.renumbered(rank))


@dataclass(frozen=True, eq=False)
class Selected(Around):
    """An Assignment by some of the clusterings: those that have a weight."""

    clusterings: np.ndarray

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of each row."""
        return self.assignment.label(rows.select(self.clusterings), n_jobs=n_jobs)

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the share of each cluster in each row."""
        return self.assignment.memberships(rows.select(self.clusterings), n_jobs=n_jobs)

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless the assignment fits the base clusters that are used."""
        shape = (counts.n_clusterings,)
        check_array("clusterings", self.clusterings, shape, kinds="b")
        self.assignment.check(counts.select(self.clusterings), n_clusters)


@dataclass(frozen=True, eq=False)
class Sure(Around):
    """An Assignment that leaves out rows whose share in their cluster is too small."""

    least: float

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of each row, -1 where its share is too small."""
        return self.of(rows, self.assignment.label(rows, n_jobs=n_jobs), n_jobs)

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the share of each cluster in each row."""
        return self.assignment.memberships(rows, n_jobs=n_jobs)

    def of(self, rows: Ensemble, labels: np.ndarray, n_jobs: int | None) -> np.ndarray:
        """Return the labels of rows, -1 where the share is too small."""
        labels = labels.copy()
        step = max(1, _SHARES // (int(labels.max(initial=0)) + 1))
        for first in range(0, len(labels), step):
            own = labels[first : first + step]
            is_all = len(own) == len(labels)
            part = rows if is_all else rows.take(np.arange(first, first + len(own)))
            there = np.flatnonzero(own >= 0)
            shares = self.memberships(part, n_jobs=n_jobs)[there, own[there]]
            own[there[shares < self.least - _ROUNDING]] = -1
        return labels

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless the assignment fits, and the required share is a number."""
        check_array("least", np.array(self.least), (), kinds="f")
        self.assignment.check(counts, n_clusters)


def selected(assignment: Any, used: np.ndarray | None) -> Any:
    """Return an Assignment by the clusterings that are used, None for all."""
    return assignment if used is None else Selected(assignment, used)


def require_memory(model: Method, counts: Counts) -> None:
    """Raise now if memory would run out later."""
    memory.require(
        model._needed_memory(counts),
        f"{type(model).__name__} with {counts.n_base_clusters:,} base clusters",
        "Use fewer or coarser base clusterings, or KCC, ECC or SEC, which need less.",
    )


def _nobody(counts: Any, seed: int, used: np.ndarray | None) -> Found:
    """Return the cut if no object is in any clustering."""
    vote = Vote(np.full(counts.n_base_clusters, -1), seed)
    labels = np.full(counts.n_objects, -1, np.int32) if counts.in_memory else None
    return Found(selected(vote, used), 0, {}, labels)


def _of_all(labels: np.ndarray | None, chosen: Any, counts: Any) -> np.ndarray | None:
    """Return the labels of all objects, -1 for those that no clustering contains."""
    if not chosen.in_memory or counts.n_objects == chosen.n_objects:
        return labels if chosen.in_memory else None
    assert labels is not None
    return np.where(counts.places < 0, np.int32(-1), labels[counts.places])


def _firsts(rows: Ensemble, start: int, *, assignment, n_labels: int) -> np.ndarray:
    first = first_places(assignment.label(rows), n_labels)
    first[first < NOWHERE] += start
    return first


def _all_found(first: np.ndarray) -> bool:
    return bool((first < NOWHERE).all())
