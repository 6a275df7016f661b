"""Features that are not all numbers: left out, filled in, or rejected."""

from dataclasses import dataclass

import numpy as np

from ensclust._files.cells import Codes, named_like_ids
from ensclust._files.features import Features
from ensclust._support.label_texts import NUMBER
from ensclust._support.validation import unexpected

_MISSING = ("refuse", "drop", "impute")
_CATEGORICAL = ("refuse", "drop", "join")


@dataclass
class Cleaned:
    """Features without gaps, and what was done to them."""

    values: np.ndarray
    names: list[str]
    ids: list | None
    joined: list[tuple[str, np.ndarray]]  # columns used as base clusterings
    notes: list[str]


def check_rules(*, missing: str, categorical: str, numeric_only: bool) -> str:
    """Return what to do with text columns, or raise for unknown words."""
    if missing not in _MISSING:
        raise unexpected(missing, "missing", f"one of {', '.join(_MISSING)}")
    if categorical not in _CATEGORICAL:
        raise unexpected(
            categorical, "categorical", f"one of {', '.join(_CATEGORICAL)}"
        )
    if numeric_only and categorical == "join":
        msg = (
            "numeric_only leaves out the columns that categorical='join' would use. "
            "Pass only one of them."
        )
        raise ValueError(msg)
    return "drop" if numeric_only else categorical


def clean(
    cells: Features, ids: list | None, *, guess: bool, missing: str, categorical: str
) -> Cleaned:
    """Return features that are finite numbers, or raise with all columns that are not.

    Parameters
    ----------
    cells : Features
        What was read.
    ids : list or None
        Names of the objects.
    guess : bool
        Whether a column of the table may be used as object names.
    missing : "refuse", "drop" or "impute"
        What to do with missing cells: raise, drop their objects, or fill in the median
        of the column.
    categorical : "refuse", "drop" or "join"
        What to do with columns that contain text: raise, leave them out, or use each as
        an extra base clustering.
    """
    done = Cleaned(cells.values(), list(cells.names), ids, [], list(cells.notes))
    left = list(range(len(cells.names)))
    if guess and ids is None and (found := find_ids(cells)) is not None:
        done.ids = _names_of(cells, found)
        done.notes.append(f"column {cells.names[found]!r} is used as object names")
        left.remove(found)
    texts = [m for m in left if cells.odd[m].n_texts]
    if categorical != "refuse":
        left = [m for m in left if m not in texts]
        several = [m for m in texts if may_be_clusters(cells.texts[m])]
        joined = several if categorical == "join" else []
        done.joined = [(cells.names[m], _clusters(cells.texts[m])) for m in joined]
        for what, which in (
            ("text columns used as base clusterings", joined),
            ("text columns left out", [m for m in texts if m not in joined]),
        ):
            if which:
                done.notes.append(f"{what}: {_listed([cells.names[m] for m in which])}")
    empty = [m for m in left if cells.odd[m].n_missing == len(done.values)]
    if missing != "refuse" and empty:
        left = [m for m in left if m not in empty]
        named = _listed([cells.names[m] for m in empty])
        done.notes.append(f"empty columns left out: {named}")
    odd = {m: cells.odd[m] for m in left}
    wrong = [
        m
        for m, own in odd.items()
        if own.n_texts or own.n_infinite or (own.n_missing and missing == "refuse")
    ]
    if wrong:
        raise cells.refuse(wrong)
    if not left:
        msg = (
            f"{cells.path} has no column of numbers. If its columns are clusterings, "
            "combine them with consensus(path, ...) or ensclust consensus."
        )
        raise ValueError(msg)
    if len(left) < len(cells.names):
        done.values = done.values[:, left]
        done.names = [cells.names[m] for m in left]
    if any(own.n_missing for own in odd.values()):
        _fill(cells, done, missing)
    return done


def _fill(cells: Features, done: Cleaned, missing: str) -> None:
    """Fill in missing cells, or leave out their objects."""
    gaps = np.isnan(done.values)
    if missing == "impute":
        values = done.values.copy()
        for m in np.flatnonzero(gaps.any(axis=0)).tolist():
            values[gaps[:, m], m] = np.nanmedian(values[:, m])
        filled = [
            f"{name} ({n:,})"
            for name, n in zip(done.names, gaps.sum(axis=0).tolist(), strict=True)
            if n
        ]
        n = int(gaps.sum())
        done.notes.append(
            f"{n:,} missing cell{'s' * (n > 1)} filled with medians: {_listed(filled)}"
        )
        done.values = values
        return
    kept = np.flatnonzero(~gaps.any(axis=1))
    n = len(gaps)
    if not len(kept):
        msg = (
            f"{cells.path}: each of the {n:,} objects has a missing cell, so none is "
            'left. Use missing="impute", or leave out columns with '
            "exclude (--exclude)."
        )
        raise ValueError(msg)
    done.values = done.values[kept]
    done.ids = [i if done.ids is None else done.ids[i] for i in kept.tolist()]
    done.joined = [(name, column[kept]) for name, column in done.joined]
    done.notes.append(
        f"{n - len(kept):,} of {n:,} objects left out because of missing cells"
    )


def find_ids(cells: Features) -> int | None:
    """Return the column that names the objects, or None."""
    if len(cells.names) == 1:
        return None
    likely = [m for m, name in enumerate(cells.names) if named_like_ids(name)]
    for m in dict.fromkeys([*likely, 0]):
        column, odd = cells.values()[:, m], cells.odd[m]
        if len(column) < 3 or odd.n_missing or odd.n_infinite:
            continue
        if m in cells.texts:
            if cells.texts[m].are_ids(cells.names[m]):
                return m
        elif m in likely and _are_different(column):
            return m
    return None


def _are_different(column: np.ndarray) -> bool:
    """Whether numbers are whole and all distinct."""
    is_whole = bool((column == np.floor(column)).all())
    return is_whole and len(np.unique(column)) == len(column)


def _names_of(cells: Features, m: int) -> list:
    if m in cells.texts:
        return cells.texts[m].cells()
    return [int(value) for value in cells.values()[:, m].tolist()]


def may_be_clusters(column: Codes) -> bool:
    """Whether a text column has few values, but neither remarks nor a constant."""
    n_values = len({*column.known} - {""})
    return 1 < n_values <= max(2, len(column) / 2)


def _clusters(column: Codes) -> np.ndarray:
    """Return a text column as labels, -1 for missing cells."""
    same = [_same(text) for text in column.known]
    label = {text: i for i, text in enumerate(sorted({*same} - {""}))} | {"": -1}
    return np.array([label[text] for text in same])[column.pop()]


def _same(text: str) -> str:
    """Return a string in which equal numbers are spelt the same way."""
    return repr(float(text)) if NUMBER.fullmatch(text) else text


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + ", ..." * (len(names) > 20)
