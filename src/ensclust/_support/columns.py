"""Choose the columns of a table by name."""

from collections.abc import Sequence
from itertools import chain

import numpy as np


def choose_columns(
    path, names, columns, id_column, index, groups=None, exclude=None
) -> tuple[int | None, list[int]]:
    """Return the positions of the id column and of the columns to use."""
    for given, what in ((columns, "columns"), (exclude, "exclude")):
        if given is not None and (isinstance(given, str) or np.ndim(given) != 1):
            msg = f"{what}={given!r}; expected a list of column names."
            raise TypeError(msg)
    id_at = index if id_column is None else _position(path, names, id_column)

    def places(wanted: Sequence[str]) -> list[int]:
        parts = ((groups or {}).get(n) or [_position(path, names, n)] for n in wanted)
        return list(chain.from_iterable(parts))

    if columns is None:
        used = [i for i in range(len(names)) if i not in (id_at, index)]
    else:
        used = places(columns)
    left_out = places([] if exclude is None else exclude)
    used = [i for i in used if i not in left_out]
    if not used:
        msg = f"{path} has no columns to use other than the ids (columns={columns!r})."
        raise ValueError(msg)
    return id_at, used


def _position(path, names: Sequence[str], name: str) -> int:
    if names.count(name) == 1:
        return names.index(name)
    shown = ", ".join(map(repr, filter(None, names[:20]))) + ", ..." * (len(names) > 20)
    number = "no column" if name not in names else f"{names.count(name)} columns"
    msg = f"{path} has {number} {name!r}. Its columns are {shown}."
    raise ValueError(msg)
