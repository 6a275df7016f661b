"""Agglomeration by nearest-neighbour chains: in a square matrix, or without one.

Average linkage is reducible: reciprocal nearest neighbours may be merged in any order
and give the same tree. A few chains are followed at a time, the nearest neighbours of
their tips are found together, and all reciprocal pairs are merged. Regions are numbered
by their lowest label row; the distinct label rows are in lexicographic order, weighted
by their numbers of objects.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext

import numpy as np

from ensclust import _kernels
from ensclust._files.checkpoint import Checkpoint
from ensclust._support import memory, parallel
from ensclust._support.progress import in_words, tell
from ensclust._support.validation import check_choice, check_integer, warn
from ensclust._trees.coarsening import Coarsening
from ensclust._trees.coassociation import DEFAULT_MEMORY, CoAssociation
from ensclust._trees.dendrogram import Dendrogram
from ensclust._trees.kept_merges import KeptMerges, held_interrupts
from ensclust._trees.routes import (
    FEW_BYTES,
    LINKAGES,
    Given,
    LabelSpace,
    Matrix,
    Square,
    require_budget,
)

FULL = 2**31 - 1  # a similarity of 1 in fixed point
_MANY = 20_000  # label rows from which linkage without a matrix may take minutes
_PRECISE = 1e-6  # error of similarities that another route also has
_ROUGH = 1e-4  # error of similarities that changes trees
_PASSES = 2  # over all rows that linkage takes per label row, including the survey


def link(
    coassociation: CoAssociation,
    linkage: str = "average",
    *,
    max_memory: int = DEFAULT_MEMORY,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    n_jobs: int | None = None,
) -> Dendrogram:
    """Agglomerate the objects of a co-association.

    Parameters
    ----------
    coassociation : CoAssociation
        The similarities.
    linkage : "average", "single" or "complete", default="average"
        Similarity of two groups.
    max_memory : int, default=2**31
        Bytes that a matrix of regions may take: 4 for each pair, or 8 if the plain
        co-association of very many objects needs int64 for pair counts. While there are
        more regions, and always with missing labels, average linkage works in label
        space, without a matrix; once the remaining regions fit, it switches to one.
        Single and complete linkage raise MemoryError if the regions do not fit after
        the first merges.
    max_regions : int or None
        None is exact. A number below F makes the tree approximate: the label rows are
        first merged into that many regions, comparing near ones only (see
        ``Coarsening``), and these are linked exactly, without a checkpoint. Only for
        average linkage.
    checkpoint : path or None
        Directory in which label space saves the merges, every few seconds and when it
        is interrupted. If it holds some, the work resumes from there; at the end they
        are deleted. They are saved once more before the switch to a matrix, whose
        linkage takes little longer than filling it.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.

    Returns
    -------
    Dendrogram
        Over the original objects.

    Notes
    -----
    First the nearest other row of each row is found, in F^2 M / 2 look-ups, and all
    pairs that are nearest to each other are merged. Square matrix: as many look-ups
    again and F^2 updates; 4 bytes per pair of remaining regions, usually half of 4 F^2.
    Label space: at most about 3 F^2 M look-ups if it does all merges, fewer once
    regions are packed into histograms, and a small part of these where bounds tell
    which rows cannot be nearest; up to about F (14 M + 80) bytes. If they do, lifted
    similarities of more than 4,096 rows are linked in label space first even where a
    matrix of all would fit.

    Both store the plain co-association as integer sums over pairs, so both break ties
    in the same way. Other similarities are 31-bit fixed point in the matrix (finer than
    float32, in the same space) and 64-bit sums of 28 bits in label space (of 31 bits
    with missing labels). Two regions are as similar in both, to 1e-6; where two merges
    are closer than that, either may come first. For more than about two million objects
    (with M = 20), the sums leave fewer bits: label space is then used only if a matrix
    does not fit, and a warning is issued if similarities may be off by more than 1e-4.
    """
    _check(coassociation, linkage, max_memory, max_regions)
    folder = None if checkpoint is None else Checkpoint.make_folder(checkpoint)
    n_leaves = len(coassociation.leaves.counts)
    if max_regions is not None and max_regions < n_leaves:
        return _link_regions(coassociation, linkage, max_regions, max_memory, n_jobs)
    coassociation = coassociation.expand_strangers(n_jobs=n_jobs)
    n_leaves = len(coassociation.leaves.counts)
    dtype = _square_dtype(coassociation, linkage)
    needed = np.dtype(dtype).itemsize * n_leaves**2
    is_pooled = coassociation.ensemble.has_missing and linkage == "average"
    if not is_pooled:
        _require_memory(min(needed / 2, max_memory), n_leaves)
    route: Square | LabelSpace
    kept = None
    if linkage != "average":
        # The first merges leave at least half of the leaves.
        least = needed if coassociation.ensemble.has_missing else needed // 4
        require_budget(least, linkage, n_leaves, max_memory)
        route = Square(coassociation, linkage, dtype, n_jobs, max_memory=max_memory)
    elif needed <= max_memory and not is_pooled:
        route = _route_within(coassociation, needed, max_memory, dtype, n_jobs)
    else:
        route = LabelSpace(coassociation, n_jobs, max_memory, dtype)
        warn_of_error(route)
        if n_leaves >= _MANY:
            warn_of_time(route)
        if folder is not None:
            kept = KeptMerges(folder, route.inputs())
    merged, similarity = _agglomerate(route, n_leaves, kept)
    return _dendrogram(coassociation, merged, similarity * route.unit)


def link_matrix(
    square: np.ndarray, linkage: str, leaf_of_object: np.ndarray, *, n_jobs=None
) -> Dendrogram:
    """Agglomerate leaves by a matrix of their similarities, each counting once.

    Parameters
    ----------
    square : ndarray of shape (L, L), uint32
        Symmetric similarities in units of 1 / (2^31 - 1), which are overwritten.
    linkage : "average", "single" or "complete"
        Similarity of two groups of leaves.
    leaf_of_object : ndarray of shape (N,)
        The leaf of each object.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.
    """
    route = Given(square, 1 / FULL, linkage, n_jobs)
    merged, similarity = _agglomerate(route, len(square))
    merges, similarity = _in_order(merged, similarity * route.unit)
    return Dendrogram(leaf_of_object, merges, 1 - similarity)


def _check(coassociation, linkage, max_memory, max_regions) -> None:
    """Raise for invalid arguments."""
    if not isinstance(coassociation, CoAssociation):
        msg = (
            f"coassociation is of type {type(coassociation).__name__}; expected "
            "ensclust.CoAssociation(ensemble)."
        )
        raise TypeError(msg)
    check_choice(linkage, "linkage", LINKAGES)
    check_integer(max_memory, "max_memory", 0)
    if max_regions is not None:
        check_integer(max_regions, "max_regions")


def _link_regions(
    coassociation: CoAssociation,
    linkage: str,
    max_regions: int,
    max_memory: int,
    n_jobs,
) -> Dendrogram:
    """Coarsen the label rows into regions, and link these exactly."""
    if linkage != "average":
        msg = (
            f"max_regions={max_regions} with linkage={linkage!r}: regions have a mean "
            'similarity, but no largest or smallest. Use linkage="average", or leave '
            "out max_regions."
        )
        raise ValueError(msg)
    coarse = Coarsening(coassociation, max_regions, n_jobs=n_jobs)
    if 4 * max_regions**2 > FEW_BYTES:
        coarse.merge_exactly()
    route: Square | LabelSpace
    if 4 * max_regions**2 <= max_memory and not coassociation.ensemble.has_missing:
        _require_memory(4 * max_regions**2 / 2, max_regions)
        route = Square(coassociation, linkage, np.uint32, n_jobs, coarse)
    else:
        dtype = _square_dtype(coassociation, linkage)
        route = LabelSpace(coassociation, n_jobs, max_memory, dtype)
        warn_of_error(route)
    merged, similarity = _agglomerate(
        route, len(coassociation.leaves.counts), coarse=coarse
    )
    similarity *= route.unit
    del coarse, route  # and its matrix
    return _dendrogram(coassociation, merged, similarity)


def _route_within(
    coassociation: CoAssociation, needed: int, max_memory: int, dtype: type, n_jobs
) -> Square | LabelSpace:
    """Return the faster route of average linkage if a matrix would fit.

    A large matrix takes longer to fill than its regions to merge, if few of them need
    to be compared. Plain sums are exact in both, so they need not be compared.
    """
    if coassociation.similarity is not None and needed > FEW_BYTES:
        route = LabelSpace(coassociation, n_jobs, max_memory, dtype)
        if route.is_local and route.error <= _PRECISE:
            return route
    return Square(coassociation, "average", dtype, n_jobs)


def _require_memory(needed: float, n_regions: int) -> None:
    """Raise if the budget allows a matrix for which the machine has no memory.

    After the first merges, usually half of a matrix of the leaves is left.
    """
    memory.require(
        needed,
        f"a matrix of {n_regions:,} distinct label rows",
        'Lower max_memory, with linkage="average".',
    )


def _square_dtype(coassociation: CoAssociation, linkage: str) -> type:
    """Return uint32, or int64 if sums over pairs of objects need it."""
    ensemble = coassociation.ensemble
    n_objects = int(coassociation.leaves.counts.sum())
    largest = n_objects**2 * ensemble.n_clusterings / 4
    sums = coassociation.similarity is None and linkage == "average"
    return np.int64 if sums and largest >= 2**32 else np.uint32


class _Chains:
    """What is known about the nearest neighbours of n regions, and the merges so far.

    Attributes
    ----------
    state : dict of ndarray
        Everything that later merges depend on, in the order of the kernels' parameters.
    n_merged : int
        Number of merges.
    """

    def __init__(self, n: int):
        self.state = {
            "near": np.zeros(n, np.int64),
            "best": np.zeros(n),
            "asked": np.full(n, -1),
            "born": np.zeros(n, np.int64),
            "alive": np.ones(n, dtype=bool),
            "merged": np.empty((n - 1, 2), np.int64),
            "similarity": np.empty(n - 1),
        }
        self.near, self.best, *_, self.merged, self.similarity = self.state.values()
        self.n_merged, self._first = 0, 0
        self._queued = np.zeros(n, dtype=bool)

    @property
    def n_left(self) -> int:
        """Number of regions that are left."""
        return len(self.near) - self.n_merged

    def count(self) -> None:
        """Count the merges of a state that has been restored."""
        self.n_merged = int(np.count_nonzero(~self.state["alive"]))

    def take(self, merged: np.ndarray) -> None:
        """Take over merges that were made elsewhere."""
        self.n_merged = len(merged)
        self.merged[: self.n_merged] = merged
        self.state["alive"][merged[:, 1]] = False

    def tips(self, n_chains: int) -> np.ndarray:
        """Return the regions to search for next; none if a chain cycles."""
        queue = np.empty(n_chains, np.int64)
        near, _, asked, born, alive, *_ = self.state.values()
        self._first += int(np.argmax(alive[self._first :]))
        length = _kernels.chain.plan(
            near, asked, born, alive, self._queued, queue, self._first
        )
        return queue[: max(length, 0)]

    def merge(self, tips: np.ndarray) -> np.ndarray:
        """Merge the reciprocal pairs among the tips just searched for; return them."""
        n_known = self.n_merged
        self.n_merged = _kernels.chain.reciprocal(tips, *self.state.values(), n_known)
        return self.merged[n_known : self.n_merged]


def _agglomerate(
    route: Matrix | LabelSpace, n: int, kept: KeptMerges | None = None, coarse=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the merged regions and their similarity, children before parents."""
    chains = _Chains(n)
    is_restored = kept is not None and kept.restore(chains.state)
    if is_restored:
        chains.count()
    elif coarse:
        chains.take(coarse.merged)
    elif n > 1:
        route.survey(chains.near, chains.best)
        chains.merge(np.arange(n))
    if chains.n_merged:
        route.join(chains.merged[: chains.n_merged])
    if coarse:
        chains.similarity[: chains.n_merged] = coarse.similarity / route.unit
    n_before = chains.n_merged
    is_kept = kept is not None
    with held_interrupts() if kept else nullcontext(lambda: False) as is_pressed:
        while chains.n_left > 1:
            if isinstance(route, LabelSpace) and route.fits(chains.n_left):
                if kept:  # labels cannot reproduce a matrix to the last bit
                    kept.save(chains.state, at_once=True)
                route, is_kept = route.to_matrix(chains.best), False
            tips = chains.tips(route.n_chains)
            if not len(tips):
                raise _stuck(chains, kept if is_restored else None)
            route.nearest(tips, chains.near, chains.best)
            route.join(chains.merge(tips))
            tell(chains.n_merged - n_before, n - 1 - n_before, "merges")
            if kept and is_kept:
                kept.save(chains.state, at_once=is_pressed())
            if kept and is_pressed():
                msg = f"the merges so far are in {kept.path}"
                raise KeyboardInterrupt(msg)
    if kept:
        kept.remove()
    return chains.merged, chains.similarity


def _stuck(chains: _Chains, kept: KeptMerges | None) -> Exception:
    """Return the error for chains that cycle."""
    if kept is not None:
        return kept.damaged()
    return RuntimeError(
        f"the nearest-neighbour chains stopped after {chains.n_merged} of "
        f"{len(chains.merged)} merges: the similarity is not symmetric. Please report "
        "this ensemble."
    )


def _dendrogram(coassociation, merged, similarity) -> Dendrogram:
    """Return the tree of the merges of a chain."""
    merges, similarity = _in_order(merged, similarity)
    leaf_of_object, heights = coassociation.leaves.inverse, 1 - similarity
    return Dendrogram(
        leaf_of_object, merges, heights, _leaf_heights(coassociation, merges, heights)
    )


def _in_order(merged, similarity) -> tuple[np.ndarray, np.ndarray]:
    """Return merges of nodes and their similarity, descending."""
    n = len(merged) + 1
    _kernels.chain.settle(merged, similarity, np.full(n, np.inf))
    order = np.argsort(-similarity, kind="stable")
    merges = merged[order]
    _kernels.chain.number(merges, np.arange(n))
    return merges, similarity[order]


def _leaf_heights(coassociation, merges, heights) -> np.ndarray:
    """Return the distances within the leaves, none above that of the first merge.

    With weights of base clusters and missing labels, objects with equal rows may be
    closer to others than to each other.
    """
    found = 1 - coassociation.within()
    if coassociation.cluster_weights is not None and len(heights):
        first = np.empty(2 * len(found) - 1)
        first[merges] = heights[:, None]
        np.minimum(found, first[: len(found)], out=found)
    return found


def warn_of_error(route: LabelSpace) -> None:
    """Warn if rounding may change the tree."""
    if route.error > _ROUGH:
        n = len(route.weight)
        is_pooled = route.coassociation.ensemble.has_missing
        matrix = "" if is_pooled else f"set max_memory={4 * n**2} for a matrix, or "
        warn(
            "linkage without a matrix rounds the similarities of "
            f"{int(route.weight.sum()):,} objects to about {route.error:.0e}, so "
            f"merges may differ from exact ones; {matrix}use EAC, which does not round."
        )


def warn_of_time(route: LabelSpace) -> None:
    """Warn if linkage that starts without a matrix takes a minute or more."""
    seconds, n = expected_seconds(route), len(route.weight)
    if seconds >= 60:
        warn(
            f"exact linkage of {n:,} distinct label rows takes about "
            f"{in_words(seconds)} with {parallel.thread_count(route.n_jobs)} threads, "
            "estimated from its first steps; checkpoint=DIRECTORY saves its progress. "
            "max_regions=20000 gives an approximate tree sooner."
        )


def expected_seconds(route: LabelSpace) -> float:
    """Estimate how long all merges take from the first rounds of chains.

    Later rounds are shorter, as there are fewer regions. Rounds are timed for half a
    second.
    """
    n = len(route.weight)
    tips = np.arange(min(n, route.n_chains))
    near, best = np.zeros(n, np.int64), np.zeros(n)
    route.nearest(tips[:1], near, best)  # compiles, and allocates the tables
    n_rounds, begin, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < 0.5:
        route.nearest(tips, near, best)
        n_rounds, elapsed = n_rounds + 1, time.perf_counter() - begin
    return elapsed / n_rounds * _PASSES * n / len(tips)
