"""The commands ``compare``, ``certainty`` and ``info``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ensclust._support.progress import progress
from ensclust.cli._options import (
    IntegerRange,
    jobs_option,
    json_option,
    names,
    seed_option,
    table_options,
)

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable

_CONTENT = "How to read FILE; by default as labels if every cell can be one."


def read_table(reader: Callable, path: str, *, quiet: bool, **choice: Any) -> Any:
    """Read a file with ``reader``, showing how far it is."""
    source = "standard input" if path == "-" else path
    with progress(f"reading {source}", quiet=quiet):
        return reader(path, **choice)


def read_clustering(
    path: str, column: str | None, option: str, of: Any, *, quiet: bool
) -> Any:
    """Read one column of labels, named or the only one, of the objects of a table."""
    from ensclust.io import read_labels

    columns = None if column is None else [column]
    table = read_table(read_labels, path, quiet=quiet, columns=columns)
    if table.values.shape[1] != 1:
        shown = ", ".join(table.columns)
        msg = f"{path} has columns {shown}. Say which with {option}."
        raise click.UsageError(msg)
    check_same_objects(path, table, of)
    return table


def check_same_objects(path: str, table: Any, of: Any) -> None:
    """Raise unless a file has the objects of another table, by its ids if both have."""
    n = len(of.values)
    if len(table.values) != n:
        msg = (
            f"{path} has {len(table.values):,} rows for {n:,} objects. Give one row "
            "per object, in the same order."
        )
        raise click.UsageError(msg)
    if _is_numbered(table.ids) or _is_numbered(of.ids):
        return
    for row, (one, other) in enumerate(zip(table.ids, of.ids, strict=True), 1):
        if str(one) != str(other):
            msg = (
                f"{path} has object {str(one)!r} in row {row:,}, where the clusterings "
                f"have {str(other)!r}. Give the same objects, in the same order."
            )
            raise click.UsageError(msg)


def _is_numbered(ids: Any) -> bool:
    """Whether there are no ids, or the row numbers that stand for them in our files."""
    return ids is None or all(str(x) == str(row) for row, x in enumerate(ids))


@click.command(short_help="See several methods side by side.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--n-clusters", type=IntegerRange(1), required=True, metavar="K",
              help="Number of consensus clusters.")  # fmt: skip
@click.option("--methods", type=names, metavar="A,B", show_default="all",
              help="Methods to compare.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), metavar="FILE",
              help="File for the labels, a column for each method.")  # fmt: skip
@seed_option
@jobs_option
@table_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def compare(labels, n_clusters, methods, output, seed, n_jobs, *, as_json, quiet,
            **choice) -> None:  # fmt: skip
    """Run several methods on the clusterings in LABELS and compare the results.

    Shows for each method its mean NMI with the base clusterings (ANMI) and its time,
    and how far the methods agree with one another. LABELS is as in consensus.
    """
    import ensclust
    from ensclust._methods import METHODS
    from ensclust._support.validation import check_choice
    from ensclust.io import check_output, read_labels, write_labels

    if output == "-":
        msg = "-o - is not possible here: the table goes to stdout. Name a file."
        raise click.UsageError(msg)
    for name in methods or ():
        check_choice(name, "--methods", tuple(METHODS))
    if output:
        check_output(output, source=labels)
    is_silent = quiet or as_json
    table = read_table(read_labels, labels, quiet=is_silent, **choice)
    count = len(methods or METHODS)
    with progress(f"comparing {count} methods", quiet=is_silent):
        settings = {"random_state": seed, "n_jobs": n_jobs}
        found = ensclust.compare(table.values, n_clusters, methods, **settings)
    if output:
        columns = {"names": found.methods, "ids": table.ids}
        write_labels(output, found.labels, source=labels, **columns)
    if not as_json:
        click.echo(str(found))
        click.echo(f"seed {seed}" + (f"; labels written to {output}" if output else ""))
        return
    per_method = [
        {"name": name, "n_clusters": int(column.max()) + 1, "anmi": anmi, "seconds": s}
        for name, column, anmi, s in zip(
            found.methods,
            found.labels.T,
            found.anmi.tolist(),
            found.seconds.round(4).tolist(),
            strict=True,
        )
    ]
    facts = {"k": n_clusters, "seed": seed, "n_objects": len(table.values)}
    facts |= {"n_clusterings": table.values.shape[1], "output": output}
    facts |= {"methods": per_method, "agreement": found.agreement.tolist()}
    click.echo(json.dumps(facts))


@click.command(short_help="Say how sure a consensus is.")
@click.argument("labels", type=click.Path())
@click.argument("consensus", type=click.Path())
@click.option("--cluster-column", metavar="NAME", show_default="its only column",
              help="Column of CONSENSUS to judge.")  # fmt: skip
@table_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def certainty(labels, consensus, cluster_column, *, as_json, quiet, **choice) -> None:
    """Say how far the clusterings in LABELS support the one in CONSENSUS.

    Per object, per cluster and per base clustering; --json has all figures. Both files
    have one row per object, in the same order, and are as in consensus.
    """
    from ensclust import Certainty, Ensemble
    from ensclust.io import read_labels

    is_silent = quiet or as_json
    table = read_table(read_labels, labels, quiet=is_silent, **choice)
    judged = read_clustering(
        consensus,
        cluster_column,
        "--cluster-column",
        table,
        quiet=is_silent,
    )
    names, ensemble = list(table.columns), Ensemble(table.values)
    try:
        found = Certainty.of(ensemble, judged.values[:, 0], names=names)
    except ValueError as error:
        msg = f"{consensus}: {error}"
        raise ValueError(msg) from error
    click.echo(json.dumps(found.to_dict()) if as_json else str(found))


@click.command(short_help="Say what a file holds.")
@click.argument("file", type=click.Path())
@click.option("--as", "content", type=click.Choice(["labels", "features"]),
              help=_CONTENT)  # fmt: skip
@table_options
@json_option
def info(file: str, content: str | None, *, as_json: bool, **choice) -> None:
    """Say what FILE holds: objects, columns, clusters, missing labels, distinct rows.

    FILE is as in consensus or cluster. Suggestions say what may be wrong with it and
    which command to run.
    """
    from ensclust.cli._info import as_text, describe

    facts = read_table(describe, file, quiet=as_json, content=content, **choice)
    click.echo(json.dumps(facts) if as_json else as_text(facts))


@click.command(short_help="Compare the methods on handwritten digits.")
@click.option("-o", "--output", default="ensclust-demo-labels.csv", show_default=True,
              metavar="FILE", help="File for the labels.")  # fmt: skip
@json_option
def demo(output: str, *, as_json: bool) -> None:
    """Compare k-means with every consensus method on handwritten digits."""
    from ensclust.cli._demo import as_text, run_demo
    from ensclust.io import check_output, write_labels

    if output == "-":
        msg = "-o - is not possible here: the table goes to stdout. Name a file."
        raise click.UsageError(msg)
    check_output(output)
    labels, scores = run_demo(quiet=as_json)

    import numpy as np

    write_labels(output, np.column_stack(list(labels.values())), names=list(labels))
    if as_json:
        facts = {"dataset": "digits", "scores": scores, "output": output}
        click.echo(json.dumps(facts))
    else:
        click.echo(f"{as_text(scores)} Labels written to {output}")
