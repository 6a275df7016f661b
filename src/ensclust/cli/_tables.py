"""The files that commands read, and whether they have the same objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import ensclust
from ensclust._support.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable


def read_table(reader: Callable, path: str, *, quiet: bool, **choice: Any) -> Any:
    """Read a file with ``reader``, showing progress; print its notes."""
    source = "standard input" if path == "-" else path
    with progress(f"reading {source}", quiet=quiet):
        table = reader(path, **choice)
    if not quiet:
        for note in getattr(table, "notes", ()):
            click.echo(f"{source}: {note}", err=True)
    return table


def read_sweep(
    path: str | None, columns: list[str] | None, of: Any, *, quiet: bool
) -> dict[str, Any]:
    """Return the clusterings of --sweep, if given, of the objects of a table."""
    if path is None:
        return {}
    levels = read_table(ensclust.io.read_labels, path, columns=columns, quiet=quiet)
    check_same_objects(path, levels, of)
    return {"sweep": levels.values, "sweep_names": levels.columns}


def read_clustering(
    path: str, column: str | None, option: str, of: Any, *, quiet: bool
) -> Any:
    """Read one column of labels, named or the only one, for the objects of a table."""
    table = read_table(
        ensclust.io.read_labels,
        path,
        quiet=quiet,
        columns=None if column is None else [column],
    )
    if table.values.shape[1] != 1:
        msg = f"{path} has columns {', '.join(table.columns)}. Choose with {option}."
        raise click.UsageError(msg)
    check_same_objects(path, table, of)
    return table


def check_same_objects(path: str, table: Any, of: Any) -> None:
    """Raise unless a file has the objects of another table, by id if both have ids."""
    n = len(of.values)
    if len(table.values) != n:
        msg = (
            f"{path} has {len(table.values):,} rows for {n:,} objects. It must have "
            "one row per object, in the same order."
        )
        raise click.UsageError(msg)
    is_named, is_other_named = not _is_numbered(table.ids), not _is_numbered(of.ids)
    if is_named != is_other_named:
        from ensclust._support.validation import warn  # noqa: PLC0415  imports numpy

        lacking = "the clusterings do" if is_named else f"{path} does"
        warn(
            f"the rows of {path} are matched by position, because {lacking} not name "
            "the objects. If there is a column of names that --columns leaves out, "
            "name it with --id-column."
        )
    if not (is_named and is_other_named):
        return
    for row, (one, other) in enumerate(zip(table.ids, of.ids, strict=True), 1):
        if str(one) != str(other):
            msg = (
                f"{path} has object {str(one)!r} in row {row:,}, where the clusterings "
                f"have {str(other)!r}. Both must list the same objects in the same "
                "order."
            )
            raise click.UsageError(msg)


def _is_numbered(ids: Any) -> bool:
    """Whether there are no ids, or only row numbers, as in files written by us."""
    return ids is None or all(str(x) == str(row) for row, x in enumerate(ids))
