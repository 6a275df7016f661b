"""Save and load models with skops: no pickle, and only types that are trusted."""

import importlib
import json
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from ensclust import __version__
from ensclust._files.archives import check_packing
from ensclust._support import memory
from ensclust._support.validation import check_path, explaining, import_optional
from ensclust._support.whole_files import check_writable, replacing

_ABOUT = "ensclust.json"  # in the archive, next to what skops writes
_SUFFIX = ".skops"
# Modules of our classes; the package itself has the estimators.
_OURS = re.compile(r"ensclust(\._[a-z]\w*(\.\w+)*)?")


def save_model(
    model: Any,
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
) -> None:
    """Save a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Any consensus method after ``fit`` to an array, a table or labels in memory.
    path : str or path
        The file; its name must end in .skops.
    columns : sequence of str, optional
        Names of the columns of ``X`` that ``ensclust predict`` looks for in files. By
        default those of the DataFrame that the model was fitted to.

    See Also
    --------
    load_model : Load it again.

    Notes
    -----
    Needs ``pip install "ensclust[model]"``. The file holds the base clusterings of the
    training objects, N M labels, but not ``X``. Types from packages other than
    ensclust, NumPy, SciPy and scikit-learn, such as a base clusterer of your own, raise
    ValueError with their names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSMC
    >>> X = load_iris().data
    >>> model = ECPCSMC(3, random_state=0).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/iris.skops")
    ...     again = load_model(f"{folder}/iris.skops")
    >>> bool((again.predict(X) == model.labels_).all())
    True
    """
    skops = check_model_path(path)
    _check_model(model)
    unsupported = skops.exceptions.UnsupportedTypeException
    advice = " Use joblib.dump(model, path), which pickles."
    with explaining("skops cannot save the model", unsupported, advice=advice):
        data = skops.dumps(model)
    if foreign := _foreign(skops.get_untrusted_types(data=data)):
        msg = (
            "model contains types from outside ensclust, NumPy, SciPy and "
            f"scikit-learn: {', '.join(foreign)}.{advice}"
        )
        raise ValueError(msg)
    names = getattr(model, "feature_names_in_", None) if columns is None else columns
    about = {
        "version": __version__,
        "columns": None if names is None else list(map(str, names)),
    }
    with replacing(Path(path)) as handle:
        handle.write(data)
        with zipfile.ZipFile(handle, "a") as archive:
            archive.writestr(_ABOUT, json.dumps(about))


def load_model(path: str | os.PathLike) -> Any:
    """Load a model saved by :func:`save_model` or ``ensclust cluster --model``.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ValueError
        If the file does not contain such a model, was saved by another version of
        ensclust, or contains types from outside ensclust, NumPy, SciPy and
        scikit-learn.
    """
    return read_model(path)[0]


def read_model(path: str | os.PathLike) -> tuple[Any, list[str] | None]:
    """Return the model of a file, and the names of the columns that it needs."""
    skops = check_model_path(path, is_output=False)
    with _reading(path):
        data = Path(path).read_bytes()
        with zipfile.ZipFile(BytesIO(data)) as archive:
            check_packing(archive)
            size = sum(member.file_size for member in archive.infolist())
            memory.require(size, f"reading {path}", "Use a machine with more memory.")
            about = json.loads(archive.read(_ABOUT))
            version, columns = about["version"], about["columns"]
    if version != __version__:
        msg = (
            f"{path} was saved by ensclust {version}; this is {__version__}. "
            f"Fit the model again, or use ensclust {version}."
        )
        raise ValueError(msg)
    with _reading(path):
        types = skops.get_untrusted_types(data=data)
    if foreign := _foreign(types):
        msg = (
            f"{path} contains types from outside ensclust, NumPy, SciPy and "
            f"scikit-learn: {', '.join(foreign)}. Nothing was loaded."
        )
        raise ValueError(msg)
    with _reading(path):
        model = skops.loads(data, trusted=types)
        _check_model(model)
        model._check_loaded()
    return model, columns


def check_model_path(path: str | os.PathLike, *, is_output: bool = True) -> Any:
    """Return ``skops.io``, or raise if a model could not be saved to ``path``."""
    check_path(path)
    if Path(path).suffix.lower() != _SUFFIX:
        msg = f"{os.fspath(path)} does not end in {_SUFFIX}, as model files must."
        raise ValueError(msg)
    if is_output:
        check_writable(path)
    elif not Path(path).is_file():
        msg = f"{os.fspath(path)} does not exist."
        raise FileNotFoundError(msg)
    return import_optional("skops.io", "a model in a file", "model")


def _check_model(model: Any) -> None:
    """Raise unless ``model`` is a fitted consensus method."""
    kind = type(model)
    if isinstance(model, type) or not hasattr(kind, "memberships"):
        msg = (
            f"model is of type {kind.__name__}; expected a fitted consensus method of "
            "ensclust, such as ECPCSMC."
        )
        raise TypeError(msg)
    # Imported here: scikit-learn takes a second, and any model has loaded it.
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    check_is_fitted(model, "labels_")


def _foreign(types: list[str]) -> list[str]:
    """Return the names of the types that are not classes of ensclust."""
    return [name for name in types if not _is_ours(name)]


def _is_ours(name: str) -> bool:
    module, _, kind = name.rpartition(".")
    if not _OURS.fullmatch(module):
        return False
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


@contextmanager
def _reading(path: str | os.PathLike) -> Iterator[None]:
    """Name the file in errors about damaged content."""
    try:
        yield
    except (MemoryError, OSError):
        raise
    except Exception as error:
        said = str(error) or type(error).__name__
        msg = f"{path} cannot be read as a model saved by ensclust: {said}"
        raise ValueError(msg) from error
