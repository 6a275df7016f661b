"""Options that commands share, and the conversion of their values."""

from __future__ import annotations

import csv
import secrets
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from ensclust._kernels._compiling import compiling

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST_K = 10_000  # most numbers of clusters in a range

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(),
    default="-",
    show_default=True,
    metavar="FILE",
    help="Output file; its extension sets the format. - is CSV on stdout.",
)
overwrite_option = click.option(
    "--overwrite",
    is_flag=True,
    help="Replace existing entries of the same name when writing h5ad.",
)
report_option = click.option(
    "--report",
    type=click.Path(),
    metavar="FILE",
    help="Also write an HTML page with charts; it opens offline.",
)


noise_option = click.option(
    "--noise",
    type=click.Choice(["missing", "own-cluster"]),
    default="missing",
    show_default=True,
    help="What a negative label means: missing (not clustered, like an empty cell) or "
    "own-cluster (the noise forms a cluster).",
)


def calm(_ctx: click.Context, _param: click.Parameter, is_asked: bool) -> bool:  # noqa: FBT001  passed by click
    """Do not report the compilation of kernels if the command is to be quiet."""
    compiling.is_told |= is_asked
    return is_asked


def _on_stdout(ctx: click.Context, param: click.Parameter, is_asked: bool) -> bool:  # noqa: FBT001  passed by click
    if is_asked:
        _require_stdout()
    return calm(ctx, param, is_asked)


def _require_stdout() -> None:
    from ensclust._support.whole_files import check_stdout

    check_stdout()


def to_stdout(command: Callable) -> Callable:
    """Make a command whose result is printed fail at once if stdout is closed."""

    @wraps(command)
    def checked(*args: Any, **options: Any) -> None:
        _require_stdout()
        command(*args, **options)

    return checked


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=_on_stdout,
    help="Print JSON to stdout.",
)
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, callback=calm, help="No progress and no summary."
)
jobs_option = click.option(
    "--n-jobs",
    type=int,
    metavar="J",
    show_default="one per core",
    help="Number of threads; never changes the result.",
)


class IntegerRange(click.IntRange):
    """click's type, whose errors would call "abc" not a valid "integer range"."""

    name = "integer"


class NumberRange(click.FloatRange):
    """click's type, whose errors would call "abc" not a valid "float range"."""

    name = "number"


seed_option = click.option(
    "--seed",
    type=IntegerRange(0, 2**32 - 1),
    metavar="S",
    help="Random seed; determines the result.",
    show_default="random, and reported",
    default=lambda: secrets.randbelow(2**31),
)


def run_options(method: str) -> Callable[[Callable], Callable]:
    """Return a decorator that adds the options of a command that runs a method."""
    option = click.option
    options: list[Callable] = [
        option("-m", "--method", default=method, show_default=True, metavar="NAME",
               shell_complete=_complete_method,
               help="Consensus method; see 'ensclust methods'. Use "
               "package.module:Class for your own."),
        option("-p", "--param", type=_parameter, multiple=True, metavar="NAME=VALUE",
               callback=lambda _ctx, _param, given: once(given),
               help="Parameter of the method, such as steps=10; a value may be a list, "
               "a,b. Can be repeated."),
        seed_option,
        jobs_option,
        table_options,
        json_option,
        quiet_option,
    ]  # fmt: skip
    return lambda command: _add(command, options)


def engine_options(command: Callable) -> Callable:
    """Add the options for how the rows of a file are read."""
    option = click.option
    return _add(command, [
        option("--engine", type=click.Choice(["memory", "blocks", "dask"]),
               default="memory", show_default=True,
               help="How to read the file: memory reads it whole, blocks reads it "
               "block by block, dask does so with many workers. blocks and dask read "
               ".npy, .parquet, .h5ad, .zarr and directories of Parquet files, and "
               "write .npy, .parquet and .zarr."),
        option("--scheduler", metavar="ADDRESS",
               help="For --engine dask: threads, processes, or the address of a "
               "scheduler."),
        option("--checkpoint", type=click.Path(), metavar="DIR",
               help="Directory that saves progress, so that an interrupted run can "
               "resume: counts of labels read in blocks, and merges of a tree."),
    ])  # fmt: skip


def page_options(command: Callable) -> Callable:
    """Add the options for what a report shows."""
    option = click.option
    return _add(command, [
        option("--map-of", type=click.Choice(["features", "ensemble", "components"]),
               show_default="features if there are any, else ensemble",
               help="Map that the report shows first: the features, a t-SNE of the "
               "ensemble, or its principal components."),
        option("--sweep", type=click.Path(), metavar="FILE",
               help="Clusterings across k or resolution that the report shows side by "
               "side."),
        option("--sweep-columns", type=names, metavar="A,B",
               help="Use only these columns of --sweep, in this order."),
    ])  # fmt: skip


def check_page(
    map_of: str | None, sweep: str | None, sweep_columns: Any, features: Any
) -> None:
    """Raise if the options of a report do not go together."""
    if sweep_columns and not sweep:
        msg = "Columns are given for --sweep, but no file. Add --sweep FILE."
        raise click.UsageError(msg)
    if map_of == "features" and not features:
        msg = (
            "--map-of features needs features: ensclust cluster has them, and ensclust "
            "report with --data FILE. Use --map-of ensemble or components."
        )
        raise click.UsageError(msg)
    if map_of == "components" and features:
        msg = (
            "--map-of components is for clusterings without features. Use --map-of "
            "features or ensemble."
        )
        raise click.UsageError(msg)


def table_options(command: Callable) -> Callable:
    """Add the options for what to read from a file."""
    option = click.option
    return _add(command, [
        option("--columns", type=names, metavar="A,B",
               help="Use only these columns. In an h5ad file: columns of obs, or an "
               "entry of obsm such as X_pca."),
        option("--exclude", type=names, metavar="A,B",
               help="Leave out these columns."),
        option("--id-column", metavar="NAME",
               help="Column with the names of the objects.", show_default="detected"),
        option("--header/--no-header", default=None, show_default="detected",
               help="Whether the first line of a text file holds column names."),
    ])  # fmt: skip


def cleaning_options(command: Callable) -> Callable:
    """Add the options for features that are not numbers."""
    option = click.option
    return _add(command, [
        option("--numeric-only", is_flag=True,
               help="Leave out columns that contain text."),
        option("--categorical", type=click.Choice(["refuse", "drop", "join"]),
               default="refuse", show_default=True,
               help="Columns that contain text: refuse stops with an error, drop "
               "leaves them out, join uses each as an extra base clustering."),
        option("--missing", type=click.Choice(["refuse", "drop", "impute"]),
               default="refuse", show_default=True,
               help="Missing cells: refuse stops with an error, drop leaves out their "
               "objects, impute fills in the median of the column."),
    ])  # fmt: skip


def _add(command: Callable, options: list[Callable]) -> Callable:
    for add in reversed(options):
        command = add(command)
    return command


def several_k(text: str) -> list[int | str]:
    """Turn "2,3,5" into [2, 3, 5]; words such as "auto" are kept."""
    ks: list[Any] = [text] if text.isidentifier() else _integers(text)
    if not ks:
        raise no_k(text)
    for k in ks:
        if ks.count(k) > 1:
            msg = f"{text!r} contains {k} more than once; give each number once."
            raise click.BadParameter(msg)
    return ks


def no_k(text: str) -> click.BadParameter:
    """Return the error for a value that no method accepts as number of clusters."""
    from ensclust._methods import METHODS

    words = {word for name in METHODS for word in METHODS.method(name)._k_words}
    known = ["a positive integer", "a list such as 2,3,5", *sorted(words, reverse=True)]
    hint = "'-k' / '--n-clusters'"
    return click.BadParameter(f"{text!r} is not {in_words(known)}.", param_hint=hint)


def in_words(choices: Sequence[str]) -> str:
    """Return "a, b or c"."""
    return " or ".join(filter(None, [", ".join(choices[:-1]), choices[-1]]))


def k_range(text: str) -> list[int]:
    """Turn "2-5" into [2, 3, 4, 5], and "2,4,8" into [2, 4, 8]."""
    ends = [part.strip() for part in text.split("-")]
    ks: Sequence[int]
    if len(ends) == 2 and all(end.isdecimal() for end in ends):
        ks = range(int(ends[0]), int(ends[1]) + 1)[: _MOST_K + 1]
    else:
        ks = _integers(text)
    if len(ks) > _MOST_K:
        msg = f"{text!r} contains more than {_MOST_K:,} numbers of clusters."
        raise click.BadParameter(msg)
    if ks and ks[0] > 0:
        return list(ks)
    msg = f"{text!r} is not a range such as 2-20 or a list such as 2,4,8."
    raise click.BadParameter(msg)


def base(text: str) -> str | list[str]:
    """Turn "kmeans,spectral" into ["kmeans", "spectral"]; a single word is kept."""
    kinds = [part.strip() for part in text.split(",")]
    if set(kinds) <= {"kmeans", "spectral"}:
        return kinds[0] if len(kinds) == 1 else kinds
    msg = f"{text!r} is not kmeans, spectral or a list such as kmeans,spectral."
    raise click.BadParameter(msg)


def base_k(text: str) -> int | tuple[int, ...]:
    """Turn "5" into 5, and "5,20" into (5, 20)."""
    ks = _integers(text)
    if 1 <= len(ks) <= 2:
        return ks[0] if len(ks) == 1 else tuple(ks)
    msg = f"{text!r} is not a positive integer or a pair such as 5,20."
    raise click.BadParameter(msg)


def effort(text: str) -> int | str:
    """Turn "3" into 3; "auto" and "full" are kept."""
    if text in ("auto", "full") or text.isdecimal():
        return int(text) if text.isdecimal() else text
    msg = f"{text!r} is not auto, full or a number of passes."
    raise click.BadParameter(msg)


def share(text: str) -> float:
    """Turn "0.95" into 0.95."""
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    msg = f"{text!r} is not a number above 0 and at most 1."
    raise click.BadParameter(msg)


def _integers(text: str) -> list[int]:
    """Return positive integers separated by commas, or an empty list."""
    parts = [part.strip() for part in text.split(",")]
    ks = [int(part) for part in parts if part.isdecimal()]
    return ks if len(ks) == len(parts) and min(ks) > 0 else []


def names(text: str) -> list[str]:
    """Turn 'a,"b,c"' into ["a", "b,c"]."""
    return next(csv.reader([text]))


def _parameter(text: str) -> tuple[str, Any]:
    """Turn "steps=10" into ("steps", 10)."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        msg = f"{text!r} is not of the form name=value."
        raise click.BadParameter(msg)
    return name, _value(value)


def once(given: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    """Return parameters and their values, or raise if one is set twice."""
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            values = " and ".join(str(value) for other, value in given if other == name)
            msg = f"{name} is set to {values}. Set it once."
            raise click.BadParameter(msg)
    return given


def no_stdout(_ctx: click.Context, _param: click.Parameter, path: str) -> str:
    """Return the path of an output that is not stdout."""
    if path == "-":
        msg = "-o - is not supported here: the table goes to stdout. Name a file."
        raise click.UsageError(msg)
    return path


def _value(text: str) -> int | float | bool | str | list:
    if "," in text:
        return [_value(part.strip()) for part in text.split(",")]
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _complete_method(_ctx: click.Context, _param: click.Parameter, start: str) -> list:
    from ensclust._methods import METHODS

    return [name for name in METHODS if name.startswith(start)]
