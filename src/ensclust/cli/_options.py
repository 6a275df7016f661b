"""Options that commands share, and what becomes of their text."""

from __future__ import annotations

import csv
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ensclust._kernels._compiling import compiling

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MOST_K = 10_000  # numbers of clusters that a range may name

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(),
    default="-",
    show_default=True,
    metavar="FILE",
    help="File for the labels, by extension; - is CSV on stdout.",
)
overwrite_option = click.option(
    "--overwrite",
    is_flag=True,
    help="Replace entries of the same names in the copy of an h5ad file.",
)
report_option = click.option(
    "--report",
    type=click.Path(),
    metavar="FILE",
    help="HTML page with charts of the result, for any browser, offline.",
)


def calm(_ctx: click.Context, _param: click.Parameter, is_asked: bool) -> bool:  # noqa: FBT001  click passes it so
    """Say nothing of kernels that are compiled, where silence is asked for."""
    compiling.is_told |= is_asked
    return is_asked


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    callback=calm,
    help="One JSON object on stdout.",
)
quiet_option = click.option(
    "-q", "--quiet", is_flag=True, callback=calm, help="No progress, no summary."
)
jobs_option = click.option(
    "--n-jobs",
    type=int,
    metavar="J",
    show_default="one per core",
    help="Threads; never changes the result.",
)


class IntegerRange(click.IntRange):
    """click's own type, whose errors call "abc" no valid "integer range"."""

    name = "integer"


class NumberRange(click.FloatRange):
    """click's own type, whose errors call "abc" no valid "float range"."""

    name = "number"


seed_option = click.option(
    "--seed",
    type=IntegerRange(0, 2**32 - 1),
    metavar="S",
    help="Decides the result.",
    show_default="drawn, and reported",
    default=lambda: secrets.randbelow(2**31),
)


def run_options(method: str) -> Callable[[Callable], Callable]:
    """Return a decorator: the options of a command that runs a method on a file."""
    option = click.option
    options: list[Callable] = [
        option("-m", "--method", default=method, show_default=True, metavar="NAME",
               shell_complete=_complete_method,
               help="Consensus method; 'ensclust methods' lists them, and "
               "package.module:Class is one of your own."),
        option("-p", "--param", type=_parameter, multiple=True, metavar="NAME=VALUE",
               callback=lambda _ctx, _param, given: once(given),
               help="Parameter of the method, such as steps=10 or a list a,b; "
               "repeatable."),
        seed_option,
        jobs_option,
        table_options,
        json_option,
        quiet_option,
    ]  # fmt: skip
    return lambda command: _add(command, options)


def engine_options(command: Callable) -> Callable:
    """Add the options that say how the rows of a file are passed over."""
    option = click.option
    return _add(command, [
        option("--engine", type=click.Choice(["memory", "blocks", "dask"]),
               default="memory", show_default=True,
               help="memory reads the file as a whole; blocks passes over it block by "
               "block; dask does so with many workers. The last two take .npy, "
               ".parquet, .h5ad, .zarr and directories of Parquet files, and write "
               ".npy, .parquet and .zarr."),
        option("--scheduler", metavar="ADDRESS",
               help="For --engine dask: threads, processes, or the address of a "
               "scheduler."),
        option("--checkpoint", type=click.Path(), metavar="DIR",
               help="Directory from which an interrupted run goes on: it keeps the "
               "counts of labels that are read in blocks, and the merges of a tree."),
    ])  # fmt: skip


def table_options(command: Callable) -> Callable:
    """Add the options that say what to read in a file."""
    option = click.option
    return _add(command, [
        option("--columns", type=names, metavar="A,B",
               help="Use these columns only; in an h5ad file: of obs, or X_pca and the "
               "like."),
        option("--exclude", type=names, metavar="A,B",
               help="Leave these columns out."),
        option("--id-column", metavar="NAME",
               help="Column that names the objects.", show_default="found"),
        option("--header/--no-header", default=None, show_default="detected",
               help="Whether the first line of a text file holds names."),
    ])  # fmt: skip


def cleaning_options(command: Callable) -> Callable:
    """Add the options that say what to do with features that are no numbers."""
    option = click.option
    return _add(command, [
        option("--numeric-only", is_flag=True,
               help="Leave out columns that hold text."),
        option("--categorical", type=click.Choice(["refuse", "drop", "join"]),
               default="refuse", show_default=True,
               help="What to do with columns that hold text: an error, leave them out, "
               "or use each as one more base clustering."),
        option("--missing", type=click.Choice(["refuse", "drop", "impute"]),
               default="refuse", show_default=True,
               help="What to do with objects that have missing cells: an error, leave "
               "them out, or put the median of the column there."),
    ])  # fmt: skip


def _add(command: Callable, options: list[Callable]) -> Callable:
    for add in reversed(options):
        command = add(command)
    return command


def several_k(text: str) -> list[int | str]:
    """Turn "2,3,5" into [2, 3, 5]; a word that may stand for a number stays."""
    ks: list[Any] = [text] if text.isidentifier() else _integers(text)
    if not ks:
        raise no_k(text)
    for k in ks:
        if ks.count(k) > 1:
            msg = f"{text!r} names {k} more than once; give each number once."
            raise click.BadParameter(msg)
    return ks


def no_k(text: str) -> click.BadParameter:
    """Return the error for a text that is no number of clusters for any method."""
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
        msg = f"{text!r} names more than {_MOST_K:,} numbers of clusters."
        raise click.BadParameter(msg)
    if ks and ks[0] > 0:
        return list(ks)
    msg = f"{text!r} is not a range such as 2-20 or a list such as 2,4,8."
    raise click.BadParameter(msg)


def base(text: str) -> str | list[str]:
    """Turn "kmeans,spectral" into ["kmeans", "spectral"]; one word stays a word."""
    kinds = [part.strip() for part in text.split(",")]
    if set(kinds) <= {"kmeans", "spectral"}:
        return kinds[0] if len(kinds) == 1 else kinds
    msg = f"{text!r} is not kmeans, spectral or several of them, kmeans,spectral."
    raise click.BadParameter(msg)


def base_k(text: str) -> int | tuple[int, ...]:
    """Turn "5" into 5, and "5,20" into (5, 20)."""
    ks = _integers(text)
    if 1 <= len(ks) <= 2:
        return ks[0] if len(ks) == 1 else tuple(ks)
    msg = f"{text!r} is not a positive integer or a pair such as 5,20."
    raise click.BadParameter(msg)


def effort(text: str) -> int | str:
    """Turn "3" into 3; auto and full stay."""
    if text in ("auto", "full") or text.isdecimal():
        return int(text) if text.isdecimal() else text
    msg = f"{text!r} is not auto, full or a number of passes."
    raise click.BadParameter(msg)


def share(text: str) -> float:
    """Turn "0.95" into 0.95."""
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    msg = f"{text!r} is not a number above 0 and up to 1."
    raise click.BadParameter(msg)


def _integers(text: str) -> list[int]:
    """Return positive integers that are separated by commas, or none."""
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
    """Return parameters and their values, if none is set twice."""
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
        msg = "-o - is not possible here: the table goes to stdout. Name a file."
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
