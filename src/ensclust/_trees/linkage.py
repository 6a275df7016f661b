"""Agglomeration by nearest-neighbour chains: in a square matrix, or without one.

Average linkage is reducible: reciprocal nearest neighbours may be merged in any order
and give one tree. A few chains are followed at a time, the nearest neighbours of their
tips are found together, and all reciprocal pairs are merged. Both engines answer the
same question in the same order (of equally near regions the lowest), over the distinct
label rows in lexicographic order with their numbers of objects as weights.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from ensclust import _kernels
from ensclust._support import memory
from ensclust._support.progress import tell
from ensclust._support.validation import check_choice, check_integer, gibibytes
from ensclust._support.whole_files import check_writable
from ensclust._trees.coarsening import Coarsening, warn_of_hours
from ensclust._trees.coassociation import DEFAULT_MEMORY, CoAssociation
from ensclust._trees.dendrogram import Dendrogram
from ensclust._trees.kept_merges import Journal, held_interrupts
from ensclust._trees.routes import LINKAGES, LabelSpace, Square

if TYPE_CHECKING:
    import os

    from ensclust._trees.routes import Engine

_CHAINS = 64  # chains followed at a time; more batch better, fewer look less ahead


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
        Bytes that a matrix of the F distinct label rows may take: 4 F^2, or 8 F^2 for
        the plain co-association of so many objects that pair counts need int64.
        Above it, and always with missing labels, average linkage works in label
        space, without a matrix; single and complete linkage raise MemoryError.
    max_regions : int or None
        None is exact. A number below F makes the tree approximate: the label rows are
        merged to so many regions by near ones only, see
        ``Coarsening``, and these are linked exactly. For
        average linkage. There is no checkpoint then.
    checkpoint : path or None
        File that label space keeps the merges in, every few seconds and when it is
        interrupted. If it exists, the work goes on from there; in the end it is
        deleted. A matrix, whose linkage takes little longer than making it, has none.
    n_jobs : int or None
        Threads; None is one per core. Never changes the result.

    Returns
    -------
    Dendrogram
        Over the original objects.

    Notes
    -----
    The nearest other row of each is found first, F^2 M / 2 look-ups, and all pairs
    that are nearest to each other are merged. Square matrix: as many look-ups again
    and F^2 updates; 4 bytes per pair of what is left, at most 4 F^2 and usually half
    of it. Label space: about 3 F^2 M look-ups, about F (M + 200) bytes.

    The plain co-association is kept as integer sums over pairs in both, so both break
    ties alike. Other similarities are 31-bit fixed point in the matrix (finer than
    float32, in the same space) and 64-bit sums of such in label space; the heights
    agree to 1e-6.
    """
    _check(coassociation, linkage, max_memory, max_regions, checkpoint)
    n_leaves = len(coassociation.leaves.counts)
    if max_regions is not None and max_regions < n_leaves:
        return _link_regions(coassociation, linkage, max_regions, max_memory, n_jobs)
    coassociation = coassociation.expand_strangers(n_jobs=n_jobs)
    n_leaves = len(coassociation.leaves.counts)
    dtype = _square_dtype(coassociation, linkage)
    needed = np.dtype(dtype).itemsize * n_leaves**2
    pooled = coassociation.ensemble.has_missing and linkage == "average"
    engine: Engine
    journal = None
    if needed <= max_memory and not pooled:
        _require_square(needed, n_leaves)
        engine = Square(coassociation, linkage, dtype, n_jobs)
    elif linkage == "average":
        engine = LabelSpace(coassociation, n_jobs)
        warn_of_hours(n_leaves, coassociation.ensemble.n_clusterings, n_jobs)
        if checkpoint is not None:
            journal = Journal(checkpoint, engine.inputs)
    else:
        msg = (
            f"linkage={linkage!r} of {n_leaves:,} distinct label rows needs a matrix "
            f"of {gibibytes(needed)}; max_memory allows {gibibytes(max_memory)}. Raise "
            'max_memory, or use linkage="average", which needs no matrix.'
        )
        raise MemoryError(msg)
    merged, similarity = _agglomerate(engine, n_leaves, journal)
    return _dendrogram(coassociation, merged, similarity * engine.unit)


def _check(coassociation, linkage, max_memory, max_regions, checkpoint) -> None:
    """Raise for what linkage cannot begin with; also for a file it may never write."""
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
    if checkpoint is not None:
        check_writable(checkpoint)


def _link_regions(
    coassociation: CoAssociation,
    linkage: str,
    max_regions: int,
    max_memory: int,
    n_jobs,
) -> Dendrogram:
    """Coarsen the label rows to some regions, and link these exactly."""
    if linkage != "average":
        msg = (
            f"max_regions={max_regions} with linkage={linkage!r}: regions have a mean "
            'similarity, but no largest or smallest. Use linkage="average", or leave '
            "out max_regions."
        )
        raise ValueError(msg)
    n_leaves = len(coassociation.leaves.counts)
    coarse = Coarsening(coassociation, max_regions, n_jobs=n_jobs)
    engine: Engine
    if 4 * max_regions**2 <= max_memory and not coassociation.ensemble.has_missing:
        _require_square(4 * max_regions**2, max_regions)
        engine = Square(coassociation, linkage, np.uint32, n_jobs, coarse)
    else:
        engine = LabelSpace(coassociation, n_jobs)
    merged, similarity = _agglomerate(engine, n_leaves, coarse=coarse)
    return _dendrogram(coassociation, merged, similarity * engine.unit)


def _require_square(needed: int, n_regions: int) -> None:
    """Refuse a matrix that the budget allows and the machine does not.

    Half of it is what is usually left after the first merges.
    """
    what = f"a matrix of {n_regions:,} distinct label rows"
    memory.require(needed / 2, what, 'Lower max_memory, with linkage="average".')


def _square_dtype(coassociation: CoAssociation, linkage: str) -> type:
    """Return uint32, or int64 where sums over pairs of objects need it."""
    ensemble = coassociation.ensemble
    largest = ensemble.n_objects**2 * ensemble.n_clusterings / 4
    sums = coassociation.similarity is None and linkage == "average"
    return np.int64 if sums and largest >= 2**32 else np.uint32


def _agglomerate(
    engine: Engine, n: int, journal: Journal | None = None, coarse=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the merged regions and their similarity, children before parents."""
    chain = _kernels.chain
    state = {
        "near": np.zeros(n, np.int64),
        "best": np.zeros(n),
        "asked": np.full(n, -1),
        "born": np.zeros(n, np.int64),
        "alive": np.ones(n, dtype=bool),
        "merged": np.empty((n - 1, 2), np.int64),
        "similarity": np.empty(n - 1),
    }
    near, best, asked, born, alive, merged, similarity = state.values()
    queued, queue = np.zeros(n, dtype=bool), np.empty(_CHAINS, np.int64)
    n_merged = first = 0
    if journal and journal.restore(state):
        n_merged = n - int(np.count_nonzero(alive))
    elif coarse:
        n_merged = len(coarse.merged)
        merged[:n_merged] = coarse.merged
        alive[coarse.merged[:, 1]] = False
    elif n > 1:
        engine.survey(near, best)
        n_merged = chain.reciprocal(np.arange(n), *state.values(), n_merged)
    if n_merged:
        engine.join(merged[:n_merged])
    if coarse:
        similarity[:n_merged] = coarse.similarity / engine.unit
    n_before = n_merged
    with held_interrupts() if journal else nullcontext(lambda: False) as is_pressed:
        while n_merged < n - 1:
            first += int(np.argmax(alive[first:]))
            length = chain.plan(near, asked, born, alive, queued, queue, first)
            if length < 1:
                msg = (
                    f"the nearest-neighbour chains stopped after {n_merged} of {n - 1} "
                    "merges: the similarity is not symmetric. Please report this "
                    "ensemble."
                )
                raise RuntimeError(msg)
            tips, n_known = queue[:length], n_merged
            engine.nearest(tips, near, best)
            n_merged = chain.reciprocal(tips, *state.values(), n_merged)
            engine.join(merged[n_known:n_merged])
            tell(n_merged - n_before, n - 1 - n_before)
            if not journal:
                continue
            journal.save(state, at_once=is_pressed())
            if is_pressed():
                msg = f"the merges so far are in {journal.path}"
                raise KeyboardInterrupt(msg)
    if journal:
        journal.remove()
    return merged, similarity


def _dendrogram(coassociation, merged, similarity) -> Dendrogram:
    """Sort the merges of a chain by height and number the nodes."""
    leaves = coassociation.leaves
    n = len(leaves.counts)
    _kernels.chain.settle(merged, similarity, np.full(n, np.inf))
    order = np.argsort(-similarity, kind="stable")
    merges = merged[order]
    _kernels.chain.number(merges, np.arange(n))
    heights = 1 - similarity[order]
    return Dendrogram(leaves.inverse, merges, heights, 1 - coassociation.within())
