"""Arrays that come out of a file: shapes and ranges, before a kernel follows them."""

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
    """Raise unless this is an array of such a shape and kind, from low to below stop.

    Parameters
    ----------
    name : str
        What it is, for the message.
    array : object
        What is in its place.
    shape : tuple of int
        The shape that fits what else the file holds.
    kinds : str
        Letters of NumPy's kinds of types.
    low, stop : float or None
        The range of its numbers; None is any.
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
            f"{name} holds numbers from {array.min()} to {array.max()}; expected "
            f"{low} to below {stop}."
        )
    else:
        return
    raise ValueError(msg)


def check_same(name: str, array: Any, expected: np.ndarray) -> None:
    """Raise unless this array, which follows from the base clusters, is theirs."""
    check_array(name, array, expected.shape)
    if not np.array_equal(array, expected):
        msg = f"{name} are those of other base clusters."
        raise ValueError(msg)


def check_ensemble(ensemble: Any) -> None:
    """Raise unless every code of an ensemble is that of one of its base clusters."""
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
            msg = f"ensemble_ holds codes that its {len(values)} categories have not."
            raise ValueError(msg)
    if ensemble.places is not None:
        places = ensemble.places
        check_array("ensemble_.places", places, (len(places),), low=-1, stop=n)
    if ensemble.multiplicity is not None:
        check_array("ensemble_.multiplicity", ensemble.multiplicity, (n,), low=1)
