"""Columns of pandas, polars and Arrow as arrays, without loss.

These libraries convert integers with nulls to floats, in which integers above 2^53
become equal. Here they become masked arrays.
"""

import decimal
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ensclust._support.encoding import Coded

_NUMBERS = (numbers.Real, decimal.Decimal, type(None))


def as_column(vector: Any) -> Any:
    """Return a column of any library as an array, masked array or Coded."""
    if isinstance(vector, np.ndarray | Coded):
        return vector
    if hasattr(vector, "combine_chunks") or hasattr(vector, "to_pylist"):
        return arrow_column(vector)
    if hasattr(vector, "is_null") and hasattr(vector, "to_physical"):
        return _polars_column(vector)
    if hasattr(vector, "dtype") and hasattr(vector, "isna"):
        return _pandas_column(vector)
    if hasattr(vector, "__array__"):
        return np.asarray(vector)
    return objects(vector)


def table_columns(table: Any) -> list | None:
    """Return the columns of a DataFrame or Arrow table; None for anything else."""
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        return [as_column(table.iloc[:, m]) for m in range(table.shape[1])]
    if hasattr(table, "get_columns"):  # polars
        return list(map(as_column, table.get_columns()))
    if hasattr(table, "column_names") and hasattr(table, "num_rows"):  # Arrow
        return [as_column(table.column(m)) for m in range(table.num_columns)]
    return None


def as_features(column: Any) -> np.ndarray:
    """Return a column of features as an array: numbers as floats, NaN if missing."""
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.filled(column.astype(np.float64), np.nan)
    values = column.values if isinstance(column, Coded) else column
    array = np.asarray(column)
    kinds = {type(v) for v in values} if array.dtype == object else {str}
    if not all(issubclass(kind, _NUMBERS) for kind in kinds):
        return array
    return np.array([np.nan if v is None else float(v) for v in array])


def joined(parts: Sequence[Any]) -> Any:
    """Return the parts of a column joined into one."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        return np.ma.concatenate(parts)
    return np.concatenate(list(map(np.asarray, parts)))


def objects(values: Any) -> np.ndarray:
    """Return a sequence as an array of Python objects, one per entry."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def arrow_column(column: Any) -> Any:
    """Convert an Arrow array: categories become Coded, decimals stay exact."""
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
        if hasattr(column, "chunks"):  # there may be several, or none
            column = column.chunk(0) if column.num_chunks else column
    if hasattr(column.type, "run_end_type"):
        from pyarrow import compute  # noqa: PLC0415  slow

        column = compute.run_end_decode(column)
    kind = str(column.type)
    if hasattr(column.type, "index_type"):
        codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return Coded(codes, column.dictionary.to_pylist())
    if kind.startswith("decimal"):
        return objects(column.to_pylist())
    if column.null_count and (kind.lstrip("u").startswith("int") or kind == "bool"):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        filled = column.fill_null(0 if kind != "bool" else False)
        return np.ma.array(filled.to_numpy(zero_copy_only=False), mask=missing)
    return column.to_numpy(zero_copy_only=False)


def _polars_column(column: Any) -> Any:
    is_integer = column.dtype.is_integer()
    if "128" in str(column.dtype) or str(column.dtype).startswith("Decimal"):
        return objects(column.to_list())
    if is_integer and column.null_count():
        missing = column.is_null().to_numpy()
        return np.ma.array(column.fill_null(0).to_numpy(), mask=missing)
    return column.to_numpy()


def _pandas_column(column: Any) -> Any:
    """Return a Series, an Index or one of pandas' own arrays."""
    if hasattr(column.dtype, "categories"):
        category = getattr(column, "cat", column)
        return Coded(np.asarray(category.codes), category.categories.tolist())
    kind = getattr(column.dtype, "numpy_dtype", None)  # of nullable types
    if kind is not None and kind.kind in "biu" and column.isna().any():
        filled = column.to_numpy(dtype=kind, na_value=kind.type(0))
        return np.ma.array(filled, mask=np.asarray(column.isna()))
    return np.asarray(column)
