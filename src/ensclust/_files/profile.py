"""Describe the columns of any table, and what they could be used for."""

import os
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ensclust._files.cleaning import find_ids, may_be_clusters
from ensclust._files.features import Features
from ensclust._files.tables import read_cells
from ensclust._support.label_texts import NUMBER

_EXAMPLES = 3
_FEW = 20  # distinct whole numbers that may be labels for any number of objects


@dataclass
class _Column:
    """One column, in plain values."""

    name: str
    type: str  # integer, number, text, mixed, empty
    n_missing: int
    n_values: int
    examples: list[str]
    role: str  # id, label, feature, "label or feature", constant, text, empty


def profile(path: str | os.PathLike, **choice: Any) -> dict[str, Any]:
    """Return the number of objects, the columns with their roles, and notes.

    Parameters
    ----------
    path : str or path
        A file that :func:`ensclust.io.read_features` reads, with any kind of cells.
    **choice
        ``columns``, ``exclude``, ``id_column`` and ``header``, as for that function.
    """
    cells, ids = read_cells(path, Features, **choice)
    n_rows = len(cells.values())
    found = None if ids is not None or choice.get("columns") else find_ids(cells)
    columns = [_describe(cells, m) for m in range(len(cells.names))]
    if found is not None:
        columns[found].role = "id"
    return {
        "n_objects": n_rows,
        "has_ids": ids is not None or found is not None,
        "columns": list(map(asdict, columns)),
        "notes": cells.notes,
    }


def _describe(cells: Features, m: int) -> _Column:
    odd, column = cells.odd[m], cells.values()[:, m]
    if m in cells.texts:
        values = [text for text in cells.texts[m].known if text]
        n_numbers = sum(bool(NUMBER.fullmatch(text)) for text in values)
        kind = "mixed" if n_numbers else "text"
        role = "label" if may_be_clusters(cells.texts[m]) else "text"
        n_values = len(values)
    else:
        present = column[~np.isnan(column)]
        n_values = len(np.unique(present))
        is_whole = bool((present == np.floor(present)).all())
        values = [f"{value:.6g}" for value in dict.fromkeys(present[:1000].tolist())]
        kind = "integer" if is_whole else "number"
        is_few = is_whole and n_values <= min(
            max(_FEW, np.sqrt(len(column))), len(column) / 2
        )
        role = "label or feature" if is_few else "feature"
    if not n_values:
        kind = role = "empty"
    elif n_values == 1:
        role = "constant"
    return _Column(
        cells.names[m], kind, odd.n_missing, n_values, values[:_EXAMPLES], role
    )
