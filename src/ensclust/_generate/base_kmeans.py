"""K-means base clusterings: runs on a sample, passes over all objects, fitted models.

With up to 20,000 objects, runs converge on all of them. With more, they converge on a
random sample of 20,000, or 50 per centre; then passes over all objects refine the
centres, fewer of them the more objects there are: see :class:`Effort`.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ensclust._cuts import kmeans
from ensclust._cuts.kmeans import Rows
from ensclust._ensemble.contents import check_array
from ensclust._generate.clusterers import View
from ensclust._generate.objects import InBlocks, InMemory
from ensclust._support.features import Frame
from ensclust._support.validation import check_choice, check_integer, unexpected

SAMPLE = 20_000  # size of the sample that runs converge on, if there are more objects
_PER_CENTRE = 50  # minimum objects of the sample per centre
_VISITS = 500_000  # objects that "auto" visits in all passes together


class Effort(NamedTuple):
    """How long k-means runs continue.

    Attributes
    ----------
    init : str
        How runs start; see :func:`ensclust.generate`.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Tolerance for the moves of centres, which ends a run.
    passes : "auto", "full" or int
        Passes over all objects if runs converged on a sample.
    """

    init: str = "k-means++"
    max_iter: int = 100
    tol: float = 1e-4
    passes: Any = "auto"

    def checked(self) -> Effort:
        """Return self; raise if a value is invalid."""
        check_choice(self.init, "init", kmeans.INITS)
        check_integer(self.max_iter, "max_iter")
        is_number = isinstance(self.tol, int | float) and not isinstance(self.tol, bool)
        if not is_number or not 0 <= self.tol < np.inf:
            raise unexpected(self.tol, "tol", "a number >= 0")
        if isinstance(self.passes, str):
            check_choice(self.passes, "effort", ("auto", "full"))
        else:
            hint = ', or "auto" or "full"'
            check_integer(self.passes, "effort", lowest=0, hint=hint)
        return self

    def n_passes(self, n: int) -> int:
        """Return the maximum number of passes over n objects."""
        if self.passes == "auto":
            return min(self.max_iter, -(-_VISITS // n))
        return self.max_iter if self.passes == "full" else int(self.passes)


class KMeans:
    """A fitted k-means run.

    Centres are stored as vectors of all features, in the generator's frame, so that new
    objects need no view; ``half_norms`` are those of the centres in the view.
    """

    def __init__(self, centres: np.ndarray, view: View, n_features: int, n_iter: int):
        self.half_norms = kmeans.half_norms(centres).astype(centres.dtype)
        self.centres = view.back(centres, n_features)
        self.n_iter_ = n_iter

    @property
    def nbytes(self) -> int:
        """Bytes of the centres."""
        return self.centres.nbytes

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest centre of each row of features in the frame."""
        return label([self], X)[0]

    def check(self, n_features: int) -> None:
        """Raise ValueError if the arrays, read from a file, do not fit together."""
        k = len(self.half_norms)
        check_array("half_norms", self.half_norms, (k,), kinds="f")
        check_array("centres", self.centres, (k, n_features), kinds="f")


Model = KMeans


def label(models: list[KMeans], X: Any, n_jobs: int | None = None) -> np.ndarray:
    """Return the labels of rows of features, in the frame, by each model: (M, n)."""
    narrow = np.min_scalar_type(max(len(model.centres) for model in models))
    labels = np.empty((len(models), X.shape[0]), narrow)
    centres = [model.centres for model in models]
    halves = [model.half_norms for model in models]
    kmeans.label(Rows.of(X), centres, halves, labels, n_jobs)
    return labels


def sample_rows(n: int, ks: list[int], seed: int, n_rows: int | None = None) -> Any:
    """Return the indices of the objects in the sample, in order."""
    size = max(SAMPLE, _PER_CENTRE * max(ks)) if n_rows is None else n_rows
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def fit(
    objects: InMemory | InBlocks,
    sample: Any,
    ks: list[int],
    seeds: list[int],
    views: list[View],
    *,
    frame: Frame,
    effort: Effort,
    n_jobs: int | None,
) -> list[KMeans]:
    """Return the models of runs that converge on a sample of the objects.

    Parameters
    ----------
    objects : InMemory or InBlocks
        All objects; passes over them follow if the sample has fewer.
    sample : array or CSR matrix
        Rows that runs converge on.
    ks, seeds, views : list
        One per run. Runs that see all features are fitted together.
    frame : Frame
        Shift, unit and precision of the features.
    effort : Effort
        How long runs continue.
    n_jobs : int or None
        Number of threads.
    """
    placed = frame.place(sample)
    converge = partial(
        kmeans.converge,
        init=effort.init,
        max_iter=effort.max_iter,
        tol=effort.tol,
        n_jobs=n_jobs,
    )
    centres: list[Any] = [None] * len(ks)
    n_iter, least = [0] * len(ks), [0.0] * len(ks)
    for group in _together(views):
        rows = Rows.of(views[group[0]].of(placed))
        found = converge(
            rows, [ks[run] for run in group], [seeds[run] for run in group]
        )
        enough = effort.tol * rows.spread()
        for run, at, taken in zip(group, *found, strict=True):
            centres[run], n_iter[run], least[run] = at, taken, enough
    if sample.shape[0] < objects.n_objects:
        n_passes = effort.n_passes(objects.n_objects)
        centres, passes = _pass_over(
            objects, frame, centres, views, n_passes, least, n_jobs
        )
        n_iter = [sum(both) for both in zip(n_iter, passes, strict=True)]
    n_features = placed.shape[1]
    return [
        KMeans(at, view, n_features, taken)
        for at, view, taken in zip(centres, views, n_iter, strict=True)
    ]


def _together(views: list[View]) -> list[list[int]]:
    """Group runs that see the same features: all that see everything; others alone."""
    whole = [run for run, view in enumerate(views) if view.is_whole]
    others = [[run] for run, view in enumerate(views) if not view.is_whole]
    return [whole, *others] if whole else others


def _pass_over(objects, frame, centres, views, n_passes, least, n_jobs):
    """Refine the centres by passes over all objects; return them and the passes."""
    size = frame.largest(objects.low, objects.high) * np.sqrt(len(objects.low))
    grown = [1.0 if v.matrix is None else np.linalg.norm(v.matrix) for v in views]
    scale = kmeans.fixed_point(size * max(grown), objects.n_objects)
    count = itertools.count(1)

    def add_up(runs: list[int], own: list[np.ndarray]) -> list:
        work = partial(
            _sums,
            frame=frame,
            views=[views[run] for run in runs],
            centres=own,
            scale=scale,
            n_jobs=n_jobs,
        )
        return objects.fold(work, _add, f"pass {next(count)} of at most {n_passes}")

    return kmeans.improve(centres, add_up, n_passes=n_passes, scale=scale, least=least)


def _sums(X: Any, *, frame: Frame, views, centres, scale: float, n_jobs) -> list:
    """Return the sums and counts of the rows nearest to each centre of each run."""
    placed = frame.place(X)
    found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for group in _together(views):
        rows = Rows.of(views[group[0]].of(placed))
        own = kmeans.add_nearest(rows, [centres[run] for run in group], scale, n_jobs)
        found |= zip(group, own, strict=True)
    return [found[run] for run in range(len(views))]


def _add(one: list, other: list) -> list:
    return [(a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True)]
