"""Load a dataset from the first source that has it, and verify it."""

import os
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import numpy as np

from ensclust._files.archives import read_arrays
from ensclust._support import notebook
from ensclust._support.validation import check_path
from ensclust.datasets import _openml, _registry, _verify
from ensclust.datasets._registry import DatasetInfo

DATA_VARIABLE = "ENSCLUST_DATA"
_BUNDLE = Path(__file__).parent / "data"


class DatasetUnavailable(FileNotFoundError):  # noqa: N818 - reads as a statement
    """No available source has the dataset; the message says how to get it."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark dataset: objects, their classes, and where they come from.

    Attributes
    ----------
    X : ndarray of shape (n_objects, n_features)
        Features as float64, as published: not scaled, normalised or imputed.
    y : ndarray of shape (n_objects,)
        Class labels 0..n_clusters-1 as int64.
    name, title : str
        Short name and name in words.
    n_clusters : int
        Number of classes, the K of the paper.
    class_names : tuple of str
        The source's class names in label order.
    licence, attribution, source : str
        Terms of use, whom to cite, and where the data were published.
    origin : str
        Where the arrays were read from: a file, ``"bundled"``, ``"scikit-learn"`` or
        ``"OpenML <id>"``. The order of rows can differ between origins.
    checksum : str
        Content checksum, independent of the order of rows; see :class:`DatasetInfo`.
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    name: str
    title: str
    n_clusters: int
    class_names: tuple[str, ...] = field(repr=False)
    licence: str
    attribution: str = field(repr=False)
    source: str = field(repr=False)
    origin: str
    checksum: str = field(repr=False)

    @property
    def n_objects(self) -> int:
        """Number of rows, the N of the paper."""
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns, the d of the paper."""
        return self.X.shape[1]

    def _repr_html_(self) -> str:
        sizes = np.bincount(self.y, minlength=self.n_clusters)
        return notebook.table(
            f"{self.title} ({self.name}): {self.n_objects:,} objects, "
            f"{self.n_features:,} features, {self.n_clusters} classes",
            ("class", "objects", "share"),
            [
                (name, size, notebook.Share(size / self.n_objects))
                for name, size in zip(self.class_names, sizes, strict=True)
            ],
            f"{self.licence} ({self.origin})",
        )


def load(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Load one of the ten benchmark datasets and verify its content.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    data_home : path-like, optional
        A directory with files ``<name>.npz`` that hold ``X`` and ``y``. Defaults to the
        environment variable ``ENSCLUST_DATA``, if set. A file there takes precedence
        over every other source.
    download : bool, default=True
        Whether to download a dataset from OpenML if no other source has it.
        scikit-learn caches the download, so this happens only once.

    Returns
    -------
    Dataset
        The arrays, with name, number of classes, licence and source.

    Raises
    ------
    DatasetUnavailable
        If no source has the dataset: ctg and gisette without a file or a network.
    ValueError
        If the name is unknown, or shape, class counts or checksum do not match.

    Notes
    -----
    Sources in order: ``data_home``; the installation (bundled files, scikit-learn for
    wine); OpenML. All sources of a dataset hold the same labelled rows, but the bundled
    rows of bc, lr and pd are in a different order than in the authors' files. gisette
    has no registered checksum: its shape, class counts and value range are checked.

    Examples
    --------
    >>> from ensclust import datasets
    >>> wine = datasets.load("wine")
    >>> wine.X.shape, wine.n_clusters
    ((178, 13), 3)
    """
    entry = _registry.info(name)
    X, y, origin, remedy = _find(entry, data_directory(data_home), download=download)
    X, y, checksum = _verify.verify(X, y, entry=entry, origin=origin, remedy=remedy)
    return Dataset(
        X=X,
        y=y,
        name=name,
        title=entry.title,
        n_clusters=entry.n_clusters,
        class_names=entry.class_names,
        licence=entry.licence,
        attribution=entry.attribution,
        source=entry.source,
        origin=origin,
        checksum=checksum,
    )


def data_directory(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the user's directory of datasets, None if not set, or raise."""
    given = os.environ.get(DATA_VARIABLE) if data_home is None else data_home
    if not given:
        return None
    check_path(given)
    directory = Path(given).expanduser()
    if not directory.is_dir():
        argument = DATA_VARIABLE if data_home is None else "data_home"
        msg = (
            f"{argument}={str(given)!r} is not a directory. Use a directory with "
            "files like wine.npz, or leave it out to use the bundled datasets."
        )
        raise NotADirectoryError(msg)
    return directory


def _find(
    entry: DatasetInfo, directory: Path | None, *, download: bool
) -> tuple[np.ndarray, np.ndarray, str, str]:
    """Return X, y, their origin, and what to do if they are wrong."""
    if directory is not None and (path := directory / f"{entry.name}.npz").is_file():
        return _read_npz(
            path,
            str(path),
            f"Replace the file, or remove it to use the next source. {entry.by_hand}",
        )
    bundled = _BUNDLE / f"{entry.name}.npz"
    if entry.provider == "bundled" and bundled.is_file():
        return _read_npz(
            bundled, "bundled", "The installed file is damaged: reinstall ensclust."
        )
    if entry.provider == "scikit-learn":
        from sklearn.datasets import load_wine  # noqa: PLC0415 - slow; only if needed

        remedy = "Install another scikit-learn, or put wine.npz into data_home."
        return *load_wine(return_X_y=True), "scikit-learn", remedy
    if not download:
        raise _unavailable(
            entry, directory, "download=False forbids a download from OpenML"
        )
    if entry.openml_id is None:
        raise _unavailable(entry, directory, "OpenML does not have it")
    origin = f"OpenML {entry.openml_id}"
    try:
        X, y = _openml.fetch(entry)
    except (OSError, HTTPException) as error:
        reason = f"{origin} could not be fetched ({type(error).__name__}: {error})"
        raise _unavailable(entry, directory, reason) from error
    remedy = (
        "Call sklearn.datasets.clear_data_home() and load again; if that does not "
        f"help, put {entry.name}.npz into data_home. {entry.by_hand}"
    )
    return X, y, origin, remedy


def _read_npz(
    path: Path, origin: str, remedy: str
) -> tuple[np.ndarray, np.ndarray, str, str]:
    try:
        arrays = read_arrays(path, ("X", "y"))
        return arrays["X"], arrays["y"], origin, remedy
    except (KeyError, ValueError) as error:
        msg = (
            f"{path} cannot be read as a NumPy archive with plain arrays X and y "
            f"({type(error).__name__}: {error}). {remedy}"
        )
        raise ValueError(msg) from error


def _unavailable(
    entry: DatasetInfo, directory: Path | None, reason: str
) -> DatasetUnavailable:
    where = (
        f"neither data_home nor {DATA_VARIABLE} is set"
        if directory is None
        else f"{directory} has no {entry.name}.npz"
    )
    online = "" if entry.openml_id is None else "Load it once with a network, or put "
    return DatasetUnavailable(
        f"dataset {entry.name!r} is not available: {where}, it is not bundled, and "
        f"{reason}. {online or 'Put '}{entry.name}.npz with X of shape "
        f"({entry.n_objects}, {entry.n_features}) and y of shape ({entry.n_objects},) "
        f"into a directory and pass that as data_home= or {DATA_VARIABLE}. "
        f"{entry.by_hand}"
    )
