"""Metadata of the datasets: registry.json as objects."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "registry.json"


@dataclass(frozen=True)
class DatasetInfo:
    """One entry of the registry.

    Attributes
    ----------
    name, title : str
        Short name, as passed to :func:`load`, and full name.
    n_objects, n_clusters, n_features : int
        The N, K and d of the paper's dataset table.
    class_names : tuple of str
        The source's class names in label order: label 0 is the first.
    class_counts : tuple of int
        Objects per class, in label order.
    licence, attribution, source : str
        Terms of use, whom to cite, and where the data were published.
    provider : str or None
        Where the installation has it: ``"bundled"``, ``"scikit-learn"`` or None.
    built_from : str or None
        The package from which a bundled file was built.
    openml_id : int or None
        OpenML data id with the same content, if any.
    checksum : str or None
        Content checksum (see Notes); None if no verified copy was available.
    value_range : tuple of int or None
        For data without a checksum: all values are integers within these bounds.
    source_files : dict or None
        SHA-256 of the published files, for data without a checksum.
    by_hand : str
        How to create the file for ``data_home`` from the published source.

    Notes
    -----
    The checksum is computed from the content, not from a file: each row becomes the
    SHA-256 of its d little-endian float64 values followed by its label as little-endian
    int64; the row digests are sorted and hashed again. It does not depend on the order
    of rows, the stored type or the compression, so one checksum serves all sources.
    """

    name: str
    title: str
    n_objects: int
    n_clusters: int
    n_features: int
    class_names: tuple[str, ...]
    class_counts: tuple[int, ...]
    licence: str
    attribution: str
    source: str
    provider: str | None
    built_from: str | None
    openml_id: int | None
    checksum: str | None
    value_range: tuple[int, int] | None
    source_files: dict[str, str] | None
    by_hand: str


def names() -> list[str]:
    """Return the names of the ten datasets, in alphabetical order.

    Returns
    -------
    list of str
        The names that :func:`load` and :func:`info` accept.

    Examples
    --------
    >>> from ensclust import datasets
    >>> datasets.names()[:3]
    ['bc', 'ctg', 'ecoli']
    """
    return list(_registry())


def info(name: str) -> DatasetInfo:
    """Return the registry entry of a dataset, without loading it.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    DatasetInfo
        Sizes, class counts, licence, source, attribution, checksum, OpenML id.

    Examples
    --------
    >>> from ensclust import datasets
    >>> entry = datasets.info("gisette")
    >>> entry.n_objects, entry.n_clusters, entry.n_features
    (7000, 2, 5000)
    """
    registry = _registry()
    if not isinstance(name, str) or name not in registry:
        msg = f"name={name!r} is not a dataset. Use one of {', '.join(registry)}."
        raise ValueError(msg)
    return registry[name]


@functools.cache
def _registry() -> dict[str, DatasetInfo]:
    return {
        name: DatasetInfo(name, **{key: _frozen(v) for key, v in entry.items()})
        for name, entry in json.loads(_FILE.read_text(encoding="utf-8")).items()
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
