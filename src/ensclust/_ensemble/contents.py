"""Check shapes and ranges of arrays from a file, before a kernel indexes by them."""

from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble


def check_array(
    name: str,
    array: Any,
    shape: tuple[int, ...],
    *,
    kinds: str = "iu",
    low: float | None = None,
    stop: float | None = None,
) -> None:
    """Raise unless this is an array of the given shape, kind and range.

    Parameters
    ----------
    name : str
        The name of the array, for messages.
    array : object
        What was found in its place.
    shape : tuple of int
        The shape that fits the rest of the file.
    kinds : str
        Allowed values of ``dtype.kind``.
    low, stop : float or None
        The range of its numbers, without ``stop``; None for any.
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind not in kinds:
        found = getattr(array, "dtype", type(array).__name__)
        msg = f"{name} is of type {found}; expected an array of numbers."
    elif array.shape != shape:
        msg = f"{name} has shape {array.shape}; expected {shape}."
    elif (low is not None and array.size and not (array >= low).all()) or (
        stop is not None and array.size and not (array < stop).all()
    ):
        msg = (
            f"{name} has numbers from {array.min()} to {array.max()}; expected "
            f"{low} to below {stop}."
        )
    else:
        return
    raise ValueError(msg)


def check_same(name: str, array: Any, expected: np.ndarray) -> None:
    """Raise unless an array is what follows from the base clusters."""
    check_array(name, array, expected.shape)
    if not np.array_equal(array, expected):
        msg = f"{name} belong to other base clusters."
        raise ValueError(msg)


def check_ensemble(ensemble: Any) -> None:
    """Raise unless every code of an ensemble is one of its base clusters."""
    if not isinstance(ensemble, Ensemble) or not ensemble.n_clusterings:
        msg = f"ensemble_ is of type {type(ensemble).__name__}; expected an Ensemble."
        raise ValueError(msg)
    n = ensemble.n_objects
    columns = zip(ensemble.columns, ensemble.categories, strict=True)
    for column, values in columns:
        check_array("ensemble_.columns", column, (n,), kinds="u")
        check_array("ensemble_.categories", values, (len(values),), kinds="biufUSO")
        is_code = (column < len(values)) | (column == ensemble.missing)
        if not is_code.all():
            msg = f"ensemble_ has codes beyond its {len(values)} categories."
            raise ValueError(msg)
    if ensemble.places is not None:
        places = ensemble.places
        check_array("ensemble_.places", places, (len(places),), low=-1, stop=n)
    if ensemble.multiplicity is not None:
        check_array("ensemble_.multiplicity", ensemble.multiplicity, (n,), low=1)
