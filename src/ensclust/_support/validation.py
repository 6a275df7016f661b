"""Checks of input, and their messages: what came in, what is allowed, what to do."""

import importlib
import numbers
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ensclust._support.quiet import is_muted

LABEL_RULE = (
    "Labels are integers, strings or categories; a negative number, NaN or None "
    'means "not clustered".'
)

_NUMBERS = 10_000  # cluster numbers below this are accepted for any number of objects
_LIKE = 0.6  # least similarity of a name to be suggested for a misspelt one
_LARGEST = 1e150  # can still be squared and summed
_MOST_OBJECTS = 10**8  # their pairs can be counted in 64 bits

# Packages whose frames are not the user's: scikit-learn and joblib call ours.
_INSIDE = ("ensclust", "sklearn", "joblib")


def unexpected(value: Any, name: str, what: str) -> ValueError:
    """Return the error for a value that a parameter does not accept."""
    return ValueError(f"{name}={value!r}; expected {what}.")


@contextmanager
def explaining(
    what: str, *kinds: type[Exception], advice: str = "", raised: type = ValueError
) -> Iterator[None]:
    """Prefix the message of errors of the given kinds with what went wrong."""
    try:
        yield
    except kinds as error:
        msg = f"{what}: {error}{advice}"
        raise raised(msg) from error


def bad_label(row: int, column: int, value: Any) -> ValueError:
    """Return the error for a cell that is not a label."""
    if isinstance(value, int) and value.bit_length() > 64:
        what = f"an integer of {value.bit_length()} bits; at most 64 are supported"
    else:
        what = repr(value) + " is not a label" * (not isinstance(value, numbers.Real))
    return ValueError(f"labels[{row}, {column}] = {what}. {LABEL_RULE}")


def mixed_labels(column: int, one: Any, other: Any) -> TypeError:
    """Return the error for a column that mixes kinds of labels."""
    return TypeError(
        f"labels[:, {column}] mixes {type(one).__name__} ({one!r}) and "
        f"{type(other).__name__} ({other!r}). {LABEL_RULE} Convert the column to one "
        "kind first."
    )


def bad_label_shape(shape: tuple[int, ...]) -> ValueError:
    """Return the error for an array that is not an N x M table of labels."""
    hint = (
        "To pass one or more label vectors, use "
        "Ensemble.from_clusterings([v1, v2, ...])."
        if len(shape) == 1
        else "Pass one row per object and one column per base clustering."
    )
    return ValueError(
        f"labels has shape {shape}; expected (n_objects, n_clusterings) with at "
        f"least one of each. {hint}"
    )


def check_rows(labels: Any, n_rows: int, n_columns: int) -> None:
    """Reject or warn about labels that have fewer rows than columns.

    Nested lists are rejected, because they could just as well be label vectors. Arrays
    and tables have well-defined rows, but may be transposed, so they only warn.
    """
    if n_columns <= n_rows:
        return
    if isinstance(labels, list | tuple):
        msg = (
            f"labels, nested lists of shape ({n_rows}, {n_columns}), is ambiguous. "
            f"If each inner list is a clustering of {n_columns} objects, use "
            "Ensemble.from_clusterings(labels); if each is an object with its labels "
            f"in {n_columns} clusterings, use np.array(labels)."
        )
        raise ValueError(msg)
    warn(
        f"labels has {n_rows} rows (objects) and {n_columns} columns (clusterings). "
        "If its rows are the clusterings, transpose it, or pass them to "
        "Ensemble.from_clusterings."
    )


def ragged_rows(labels: Any) -> ValueError:
    """Return the error for label rows of different lengths."""
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in labels]
    unlike = [m for m, length in enumerate(lengths) if length != lengths[0]]
    shown = [f"labels[{m}] has {lengths[m]} labels" for m in (0, *unlike[:1])]
    return ValueError(
        f"labels has rows of different length: {', '.join(shown)}. Pass one row per "
        "object with one label per base clustering, -1 where there is none."
    )


def no_table(labels: Any) -> ValueError:
    """Return the error for labels that are not a table."""
    hint = (
        "For a dict of label vectors use Ensemble.from_clusterings(labels.values())."
        if isinstance(labels, dict)
        else "Pass one row per object and one column per base clustering."
    )
    shown = "None" if labels is None else f"of type {type(labels).__name__}"
    return ValueError(
        f"labels is {shown}; expected an array or a DataFrame of shape (n_objects, "
        f"n_clusterings), an Ensemble, or the path of a file. {hint}"
    )


def no_clusterings(clusterings: Any) -> TypeError:
    """Return the error for an argument that does not hold label vectors."""
    return TypeError(
        f"clusterings is of type {type(clusterings).__name__}. Pass a list of label "
        "vectors, one per clustering."
    )


@contextmanager
def naming_index(name: str, value: Any, n: int) -> Iterator[None]:
    """Explain which indices are valid when NumPy rejects one."""
    try:
        yield
    except IndexError as error:
        msg = (
            f"{name}={value!r} is not a valid index for {n} entries: {error}. "
            f"Use integers from 0 to {n - 1}, or a mask of length {n}."
        )
        raise IndexError(msg) from error


def check_n_clusters(n_clusters: Any, n_samples: int, n_columns: int = 0) -> int:
    """Return ``n_clusters`` as an int between 1 and ``n_samples``, or raise.

    ``n_columns`` is that of the labels, which may be transposed.
    """
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, numbers.Integral):
        msg = (
            f"n_clusters={n_clusters!r} is a {type(n_clusters).__name__}. "
            f"Use an integer between 1 and n_samples={n_samples}."
        )
        raise TypeError(msg)
    if 1 <= int(n_clusters) <= n_samples:
        return int(n_clusters)
    msg = f"n_clusters={n_clusters} is less than 1. Use at least 1 cluster."
    if int(n_clusters) > n_samples:
        turned = (
            f" labels has {n_samples} rows (objects) and {n_columns} columns "
            "(clusterings); if yours is the other way round, pass labels.T."
        )
        msg = (
            f"n_clusters={n_clusters} is larger than n_samples={n_samples}. "
            f"Use at most {n_samples} clusters.{turned * (n_columns > n_samples)}"
        )
    raise ValueError(msg)


def check_noise(noise: Any) -> str:
    """Return ``noise`` if it is a known meaning of negative labels, or raise."""
    return check_choice(noise, "noise", ("missing", "own-cluster"))


def late_noise(noise: str, ensemble: Any) -> ValueError:
    """Return the error for ``noise`` passed after the labels have been encoded."""
    return ValueError(
        f"noise={noise!r} comes too late for {ensemble!r}, which no longer "
        "distinguishes noise from missing labels. Pass it when the ensemble is made: "
        f"Ensemble(labels, noise={noise!r}) or generate(X, noise={noise!r})."
    )


def check_labelling(labels: Any, n_objects: int, name: str = "labels") -> np.ndarray:
    """Return one cluster number per object, int64 with -1 for none, or raise."""
    array = np.asarray(labels)
    rule = "Pass one integer per object: 0 or more for a cluster, negative for none."
    if array.shape != (n_objects,):
        msg = f"{name} has shape {array.shape}; expected ({n_objects},). {rule}"
        raise ValueError(msg)
    if array.dtype.kind not in "iu":
        msg = f"{name} has type {array.dtype}. {rule}"
        raise TypeError(msg)
    # Tables are indexed by cluster number, up to the largest.
    if n_objects and (largest := int(array.max())) >= max(n_objects, _NUMBERS):
        msg = (
            f"{name} holds the number {largest} for {n_objects} objects. Number the "
            f"clusters 0, 1, ..., as np.unique({name}, return_inverse=True)[1] does."
        )
        raise ValueError(msg)
    return np.maximum(array.astype(np.int64), -1)


def check_classes(values: Any, name: str) -> np.ndarray:
    """Return one label per object, integers or strings, none missing, or raise."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty((len(values), 0))
    rule = "Pass one integer or string per object."
    if array.ndim != 1 or not len(array):
        msg = f"{name} has shape {array.shape}; expected (n_objects,). {rule}"
        raise ValueError(msg)
    if array.dtype.kind == "f":
        wrong = ~(np.isfinite(array) & (array == np.floor(array)))
    elif array.dtype.kind == "O":
        wrong = np.array([not isinstance(v, str | numbers.Integral) for v in array])
    else:
        wrong = np.full(len(array), array.dtype.kind not in "biuUS")
    if wrong.any():
        i = int(np.argmax(wrong))
        msg = f"{name}[{i}] = {array[i : i + 1].tolist()[0]!r}. {rule}"
        raise ValueError(msg)
    return array


def check_weights(weights: Any, n_clusterings: int) -> np.ndarray:
    """Return one weight >= 0 per base clustering, float64, not all 0, or raise."""
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    rule = f"Pass {n_clusterings} numbers >= 0, one per base clustering."
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if array.shape != (n_clusterings,):
        shape = np.shape(weights) if array.size else f"{weights!r}"
        msg = f"weights is {shape} for {n_clusterings} base clusterings. {rule}"
    elif len(bad):
        msg = f"weights[{bad[0]}] = {array[bad[0]]:g}. {rule}"
    elif array.max() > _LARGEST:
        msg = f"weights are as large as {array.max():g}. Divide them by a constant."
    elif not array.any():
        msg = "weights are all 0. Give at least one base clustering a weight above 0."
    else:
        return array
    raise ValueError(msg)


def check_cluster_weights(weights: Any, n_base_clusters: int) -> np.ndarray:
    """Return one weight in (0, 1] per base cluster, float64, or raise."""
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    rule = f"Pass {n_base_clusters} numbers in (0, 1], one per base cluster."
    bad = np.flatnonzero(~((array > 0) & (array <= 1)))
    if array.shape != (n_base_clusters,):
        shape = np.shape(weights) if array.size else f"{weights!r}"
        msg = (
            f"cluster_weights is {shape} for {n_base_clusters} base clusters (those of "
            f"clusterings of weight 0 are left out). {rule}"
        )
    elif len(bad):
        msg = f"cluster_weights[{bad[0]}] = {array[bad[0]]:g}. {rule}"
    else:
        return array
    raise ValueError(msg)


def check_sample_weight(sample_weight: Any, n_objects: int) -> np.ndarray:
    """Return how many times each object counts, (N,) int64, not all 0, or raise."""
    try:
        array = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0))
    rule = (
        f"Pass {n_objects} whole numbers >= 0, one per object: how many times it "
        "counts."
    )
    if array.shape != (n_objects,):
        shape = np.shape(sample_weight) if array.size else f"{sample_weight!r}"
        msg = f"sample_weight is {shape} for {n_objects} objects. {rule}"
    elif not (right := (array >= 0) & (array == np.floor(array))).all():
        i = int(np.argmin(right))
        msg = f"sample_weight[{i}] = {array[i]:g}. {rule}"
    elif not array.any():
        msg = "every sample_weight is zero. Give at least one object a weight above 0."
    elif array.sum() > _MOST_OBJECTS:
        msg = (
            f"sample_weight adds up to {array.sum():g} objects; at most "
            f"{_MOST_OBJECTS:,} are supported. Divide it by a constant and round."
        )
    else:
        return array.astype(np.int64)
    raise ValueError(msg)


def check_magnitude(X: Any) -> Any:
    """Return features, dense or sparse, or raise if their squares would overflow."""
    values = getattr(X, "data", X) if hasattr(X, "tocsr") else X
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest > _LARGEST:
        msg = (
            f"X holds numbers as large as {largest:g}, whose squares overflow 64-bit "
            "floats. Divide X by a constant; this changes nothing else."
        )
        raise ValueError(msg)
    return X


def check_square(W: Any, name: str) -> np.ndarray:
    """Return ``W`` as a float64 square, symmetric, non-negative matrix, or raise."""
    with explaining(
        f"{name} is not a table of numbers",
        *(TypeError, ValueError),
        advice=". Pass a square matrix.",
        raised=TypeError,
    ):
        W = np.asarray(W, dtype=np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        msg = f"{name} has shape {W.shape}; expected a square matrix."
    elif not np.isfinite(W).all():
        msg = f"{name} contains NaN or infinity; every entry must be a finite number."
    elif W.size and W.min() < 0:
        msg = f"{name} has a negative entry ({W.min():g}); similarities are >= 0."
    elif (gap := _asymmetry(W)) > 1e-8 * max(1.0, W.max(initial=0.0)):
        msg = (
            f"{name} is not symmetric: entries differ by up to {gap:g} from their "
            f"mirror image. Use ({name} + {name}.T) / 2 to symmetrise it."
        )
    else:
        return W
    raise ValueError(msg)


def _asymmetry(W: np.ndarray) -> float:
    """Return the largest difference from the transpose, without a second matrix."""
    strips = [slice(i, i + 256) for i in range(0, len(W), 256)]
    return max((np.abs(W[i] - W[:, i].T).max() for i in strips), default=0.0)


def check_integer(value: Any, name: str, lowest: int = 1, hint: str = "") -> int:
    """Return ``value`` as an int of at least ``lowest``, or raise."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or int(value) < lowest:
        raise unexpected(value, name, f"an integer >= {lowest}{hint}")
    return int(value)


def check_steps(steps: Any) -> int:
    """Return the number of random-walk steps as an int >= 1, or raise."""
    return check_integer(steps, "steps", hint=" (the paper uses 20)")


def check_lengths(steps: Any) -> list[int]:
    """Return one or more numbers of random-walk steps, or raise."""
    if isinstance(steps, str) or not hasattr(steps, "__iter__") or not len(steps):
        raise unexpected(steps, "steps", "a list of integers >= 1")
    return [check_steps(length) for length in steps]


def check_counts(cluster_counts: Any, n_base_clusters: int) -> np.ndarray:
    """Return the number of clusters per base clustering, (M,) integers, or raise."""
    counts = np.asarray(cluster_counts)
    fits = counts.ndim == 1 and counts.dtype.kind in "iu" and counts.min(initial=0) >= 0
    if not fits or counts.sum() != n_base_clusters:
        raise unexpected(
            cluster_counts,
            "cluster_counts",
            "the number of clusters of each base clustering, adding up to "
            f"{n_base_clusters}, the number of rows of W",
        )
    return counts


def check_decay(decay: Any) -> float:
    """Return a factor for similarities, 0 to 1, or raise."""
    if not isinstance(decay, numbers.Real) or not 0 <= float(decay) <= 1:
        raise unexpected(decay, "decay", "a number from 0 to 1")
    return float(decay)


def check_theta(theta: Any) -> float:
    """Return a divisor of entropies, above 0, or raise."""
    is_number = isinstance(theta, numbers.Real) and not isinstance(theta, bool)
    if not is_number or not 0 < float(theta) < float("inf"):
        raise unexpected(theta, "theta", "a finite number above 0")
    return float(theta)


def check_threshold(threshold: Any) -> float:
    """Return a similarity in (0, 1], or raise."""
    is_number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool)
    if not is_number or not 0 < float(threshold) <= 1:
        raise unexpected(threshold, "threshold", "a number in (0, 1]")
    return float(threshold)


def no_sparse(clusterer: Any, X: Any, error: Exception) -> ValueError:
    """Return the error for sparse features that a base clusterer does not accept."""
    return ValueError(
        f"base={clusterer!r} rejected X, a sparse matrix of shape {X.shape}: "
        f'{error} Use base="kmeans", which supports sparse features, generate with '
        "projection=50, which gives clusterers 50 dense features, or pass X.toarray() "
        f"({gibibytes(8 * X.shape[0] * X.shape[1])})."
    )


def check_path(path: Any) -> None:
    """Raise unless ``path`` can name a file."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        msg = f"path is of type {type(path).__name__}; expected a file name."
        raise TypeError(msg)
    if not os.fspath(path) or "\0" in os.fspath(path):
        msg = f"path={os.fspath(path)!r} is not a valid file name."
        raise ValueError(msg)


def check_share(value: Any, name: str, n: int, what: str) -> int | None:
    """Return how many of ``n`` a share or a number stands for; None for all."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if whole and 1 <= int(value) <= n:
        return int(value) if int(value) < n else None
    if isinstance(value, float | np.floating) and 0 < value <= 1:
        return max(1, round(float(value) * n)) if value < 1 else None
    raise unexpected(
        value,
        name,
        f"a share of the {n} {what} as a float in (0, 1.0], or their number as an "
        f"integer from 1 to {n}",
    )


def check_choice(
    value: Any, name: str, choices: tuple[str, ...], *, or_none: bool = False
) -> str:
    """Return ``value`` if it is one of ``choices``, or raise with the list."""
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join([*map(repr, choices), *["None"] * or_none])
        msg = f"{name}={value!r} is not supported. Use one of {allowed}."
        raise ValueError(msg + _meant(value, choices))
    return value


def _meant(value: Any, choices: tuple[str, ...]) -> str:
    """Return a question with the choice most like a misspelt one, if any is."""
    if not isinstance(value, str):
        return ""
    typed = value.lower().replace("_", "-")
    likeness = {own: SequenceMatcher(None, own, typed).ratio() for own in choices}
    nearest = max(choices, key=likeness.__getitem__)
    return f" Did you mean {nearest!r}?" if likeness[nearest] >= _LIKE else ""


def check_choices(values: Any, name: str, choices: tuple[str, ...]) -> list[str]:
    """Return some of ``choices``, each once, or raise with the list."""
    if isinstance(values, str) or not hasattr(values, "__len__") or not len(values):
        allowed = ", ".join(map(repr, choices))
        msg = f"{name}={values!r}; expected a list with one or more of {allowed}."
        raise ValueError(msg)
    return list(dict.fromkeys(check_choice(value, name, choices) for value in values))


def check_random_state(random_state: Any) -> np.random.RandomState:
    """Return the generator that scikit-learn makes of ``random_state``, or raise."""
    if random_state is None or random_state is np.random:
        return np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return random_state
    try:
        if isinstance(random_state, numbers.Integral):
            return np.random.RandomState(int(random_state))
    except ValueError:
        pass
    raise unexpected(
        random_state,
        "random_state",
        "an integer from 0 to 2**32 - 1, a numpy.random.RandomState, or None",
    )


def gibibytes(n_bytes: float) -> str:
    """Format a number of bytes in GiB."""
    return f"{n_bytes / 2**30:,.3g} GiB"


def import_optional(module: str, what: str, extra: str) -> Any:
    """Import a package that only ``what`` needs, or raise with the install line."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = (
            f"{what} needs {module.split('.', maxsplit=1)[0]}. Install it with:  "
            f'pip install "ensclust[{extra}]"  or, in a clone of ensclust:  '
            f'pip install ".[{extra}]"'
        )
        raise ImportError(msg, name=module) from error


def lacking(error: ImportError) -> str:
    """Return in a few words what a failed import needs."""
    return install_line(error.name) if error.name else str(error)


def install_line(package: str) -> str:
    """Return a note that a package is needed, and how to install it."""
    return f"needs {package}: pip install {package}"


def warn(message: str) -> None:
    """Issue a warning that points at the caller's line outside the package."""
    if is_muted(message):
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
