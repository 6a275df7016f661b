"""compare(): several methods on the same base clusterings, side by side."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ensclust._ensemble.agreement import agreement, pairwise_nmi
from ensclust._ensemble.alignment import align
from ensclust._ensemble.ensemble import Ensemble
from ensclust._kernels._compiling import stopwatch
from ensclust._methods.consensus import consensus
from ensclust._methods.table import METHODS, name_of, usual_methods
from ensclust._quality.comparison import Comparison
from ensclust._support.progress import phase
from ensclust._support.quiet import muted
from ensclust._support.validation import (
    check_choices,
    check_n_clusters,
    check_random_state,
    lacking,
)

_SMALL = 200  # objects to load kernels with, so that times do not include it


def compare(
    labels: Any,
    n_clusters: int,
    methods: Sequence | str | None = None,
    *,
    truth: Any = None,
    random_state=None,
    n_jobs: int | None = None,
) -> Comparison:
    """Run several consensus methods and see how well they agree.

    Parameters
    ----------
    labels : Ensemble, array-like, DataFrame or path
        The base clusterings, as in :func:`ensclust.consensus`.
    n_clusters : int
        Number of consensus clusters, also for methods that can choose it themselves.
    methods : sequence of str, classes or estimators, or "all", optional
        Methods, as in :func:`ensclust.consensus`. The default is those that the ECPCS
        paper compares, and those that other packages add; "all" means all of
        :func:`ensclust.methods`. A method that needs a package that is not installed is
        left out and listed in ``left_out``.
    truth : array-like of shape (n_objects,), optional
        The true classes, integers or text; NaN, None and negative numbers are unknown.
        With it, the result has the NMI, ARI and ECS of each method.
    random_state : int, RandomState instance or None
        Determines the results; each method gets the same seed.
    n_jobs : int or None
        Number of threads; None means one per core.

    Returns
    -------
    Comparison
        Time is that of the methods and of counting the overlaps of all clusterings,
        N M^2 / 2; memory is 4 N M bytes more than that of the largest method.

    Examples
    --------
    >>> import ensclust
    >>> labels = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    >>> truth = ["a", "a", "b", "b", "b"]
    >>> found = ensclust.compare(labels, 2, ["eac", "ecpcs-mc"], truth=truth)
    >>> found.agreement
    array([[1., 1.],
           [1., 1.]])
    >>> found.ari.round(2)
    array([1., 1.])
    """
    ensemble = Ensemble(labels)
    check_n_clusters(n_clusters, ensemble.n_objects)
    classes = None if truth is None else _classes(truth, ensemble.n_objects)
    named = _named(methods)
    if not isinstance(random_state, Integral):
        random_state = check_random_state(random_state).randint(2**31 - 1)
    settings: dict[str, Any] = {"random_state": int(random_state), "n_jobs": n_jobs}
    small = ensemble.take(np.flatnonzero(~ensemble.absent())[:_SMALL])
    results: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    left_out: dict[str, str] = {}
    for i, (name, method) in enumerate(named.items(), 1):
        try:
            with phase(f"loading {name}"):
                _load(small, method, settings)
        except ImportError as error:
            left_out[name] = lacking(error)
            if len(left_out) == len(named):
                raise
            continue
        with phase(f"{name} ({i} of {len(named)})"):
            clock = stopwatch()
            results[name] = consensus(ensemble, n_clusters, method, **settings)
            seconds[name] = clock()
    together = Ensemble.from_clusterings([*ensemble.labels.T, *results.values()])
    overlap = np.nan_to_num(pairwise_nmi(together, n_jobs=n_jobs))
    m = ensemble.n_clusterings
    anmi = overlap[m:, :m].mean(axis=1)
    order = np.argsort(-anmi, kind="stable")
    found = [list(results)[i] for i in order]
    scores = {} if classes is None else _scores([results[n] for n in found], classes)
    return Comparison(
        tuple(found),
        np.column_stack([align(results[name], results[found[0]]) for name in found]),
        anmi[order],
        overlap[m:, m:][np.ix_(order, order)],
        np.array([seconds[name] for name in found]),
        left_out=left_out,
        **scores,
    )


def _classes(truth: Any, n_objects: int) -> np.ndarray:
    """Return true classes as numbers, -1 for unknown ones, or raise."""
    try:
        found = Ensemble.from_clusterings([truth]).labels[:, 0]
    except (TypeError, ValueError) as error:
        msg = f"truth cannot be read: {error}"
        raise type(error)(msg) from error
    if len(found) != n_objects or found.max() < 0:
        msg = (
            f"truth has {len(found)} entries, {(found >= 0).sum()} of them known, for "
            f"{n_objects} objects. Pass one class per object, NaN if it is unknown."
        )
        raise ValueError(msg)
    return found


def _scores(results: list[np.ndarray], classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return how each result agrees with the true classes, where both are known."""
    return agreement(Ensemble.from_clusterings(results), classes)._asdict()


def _named(methods: Sequence | str | None) -> dict[str, Any]:
    """Return methods by the names that a table shows; equal names are numbered."""
    if methods is None or (isinstance(methods, str) and methods == "all"):
        chosen = usual_methods() if methods is None else list(METHODS)
        return {name: name for name in chosen}
    is_list = hasattr(methods, "__iter__") and not isinstance(methods, str)
    if not is_list or all(isinstance(m, str) and ":" not in m for m in methods):
        chosen = check_choices(methods, "methods", tuple(METHODS))
        return {name: name for name in chosen}
    named: dict[str, Any] = {}
    for method in methods:
        name = name_of(method)
        n_alike = sum(known.split(" ")[0] == name for known in named)
        named[f"{name} {n_alike + 1}" if n_alike else name] = method
    return named


def _load(small: Ensemble, method: Any, settings: dict[str, Any]) -> None:
    """Run a method on a few objects, so that everything it needs is loaded."""
    if len(small) > 1:
        with muted():
            consensus(small, 2, method, **settings)
