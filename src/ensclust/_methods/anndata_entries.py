"""What AnnData stores about a result, in memory and in copies of files."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensclust._files import h5ad
from ensclust._files.tables import check_output
from ensclust._quality.certainty import Certainty
from ensclust._support.whole_files import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ensclust._methods.driver import Found, Solved


class Entries(NamedTuple):
    """What is written about a result, by the names of its places in AnnData."""

    obs: dict[str, Any]
    obsm: dict[str, np.ndarray]
    uns: dict[str, Any]


def describe(
    key: str,
    solved: Solved,
    found: Found,
    settings: dict[str, Any],
    names: list[str] | None,
) -> Entries:
    """Return what is stored about one clustering, its clusters numbered by size."""
    order = h5ad.by_size(found.labels, found.n_clusters)
    labels = h5ad.categorical(found.labels, order)
    sure = Certainty.of(
        solved.counts,
        labels.codes,
        weights=solved.weights,
        names=names,
    )
    asked = {"keys": names, **settings}
    about = {
        "params": {
            name: np.array(value) if isinstance(value, (list, tuple)) else value
            for name, value in asked.items()
            if value is not None
        },
        "n_clusters": found.n_clusters,
        "agreement": sure.clusterings(),
        "cluster_consensus": sure.cluster_consensus,
    }
    return Entries(
        {key: labels, f"{key}_certainty": sure.item_consensus},
        {f"{key}_memberships": found.assignment.memberships(solved.counts)[:, order]},
        {key: about},
    )


def check_free(
    source: str | os.PathLike, keys: Sequence[str], *, overwrite: bool
) -> None:
    """Raise if :func:`write_copy` would replace entries of the file."""
    entries = {
        "obs": [name for key in keys for name in (key, f"{key}_certainty")],
        "obsm": [f"{key}_memberships" for key in keys],
        "uns": list(keys),
    }
    h5ad.check_free(Path(source), entries, overwrite=overwrite)


def write_copy(
    path: str | os.PathLike,
    source: str | os.PathLike,
    solved: Solved,
    *,
    keys: dict[str, int | str | None],
    settings: dict[str, Any],
    names: list[str] | None,
) -> None:
    """Write a copy of an h5ad file that also holds the result for each k.

    ``keys`` are the names of the results and their k, ``names`` those of the base
    clusterings (None: numbers).
    """
    check_output(path, source=source)
    found = [
        describe(key, solved, cut, {"n_clusters": k, **settings}, names)
        for (key, k), cut in zip(keys.items(), solved.cuts, strict=True)
    ]
    obs, obsm, uns = (reduce(or_, parts) for parts in zip(*found, strict=True))
    with replacing(Path(path)) as handle:
        h5ad.write_copy(Path(source), handle, obs, obsm, uns)


def write_predicted(
    path: str | os.PathLike,
    source: str | os.PathLike,
    labels: np.ndarray,
    trained: np.ndarray,
) -> None:
    """Write a copy of an h5ad file with labels of new cells, as "consensus".

    Clusters have the numbers that :func:`write_copy` gave them for the training cells.
    """
    order = h5ad.by_size(trained, int(labels.max(initial=-1)) + 1)
    found = h5ad.categorical(labels, order)
    with replacing(Path(path)) as handle:
        h5ad.write_copy(Path(source), handle, {"consensus": found})
