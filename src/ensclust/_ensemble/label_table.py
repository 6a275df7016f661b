"""The columns of whatever users give as a table of labels."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ensclust._files.tables import read_labels
from ensclust._support.encoding import unmasked
from ensclust._support.validation import bad_label_shape, no_table


def label_columns(labels: Any, noise: str = "own-cluster") -> list[np.ndarray]:
    """Return the M columns of a label table, each (N,).

    ``labels`` is an array-like, a DataFrame, or the path of a file that
    :func:`ensclust.io.read_labels` reads.
    """
    if isinstance(labels, str | os.PathLike):
        labels = read_labels(labels).labels(noise)
    if hasattr(labels, "obs") and hasattr(labels, "obsm"):  # AnnData
        msg = (
            f"labels is an {type(labels).__name__}. Use ensclust.scverse.consensus("
            "adata, keys=[...]), or give its columns, adata.obs[[...]]."
        )
        raise TypeError(msg)
    if hasattr(labels, "iloc") and hasattr(labels, "columns"):  # pandas
        columns = [np.asarray(labels.iloc[:, m]) for m in range(labels.shape[1])]
        shape = labels.shape
    elif hasattr(labels, "get_columns"):  # polars
        columns = [column.to_numpy() for column in labels.get_columns()]
        shape = labels.shape
    else:
        table = _table(labels)
        shape = table.shape
        columns = list(table.T) if table.ndim == 2 else []
    if len(shape) != 2 or 0 in shape:
        raise bad_label_shape(shape)
    return columns


def _table(labels: Any) -> np.ndarray:
    if hasattr(labels, "toarray"):
        msg = (
            f"labels is a sparse {type(labels).__name__}. Give a dense table of "
            "labels, (n_objects, n_clusterings)."
        )
        raise TypeError(msg)
    try:
        table = unmasked(labels)
    except ValueError as error:
        msg = (
            "labels has rows of different length. Give one row per object with one "
            "label per base clustering, -1 where there is none."
        )
        raise ValueError(msg) from error
    if table.ndim == 0:
        raise no_table(labels)
    if table.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        # [[1, "a"], ...] would turn 1 into "1", and -1 into a label.
        table = np.asarray(labels, dtype=object)
    return table
