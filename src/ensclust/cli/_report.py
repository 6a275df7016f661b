"""The command ``report``, and the option of the same name."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ensclust._support.progress import progress
from ensclust.cli._files_commands import check_same_objects, read_clustering, read_table
from ensclust.cli._options import names, table_options

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    import numpy as np

    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._methods.base import BaseConsensus

TYPED = "ensclust._view.report.typed"  # where a context keeps its command line

_CLUSTER = "Column of CONSENSUS to report."
_DATA = "Table of numbers that the map of the objects is made of."
_TRUTH = "File with the true classes."


@click.command(short_help="Show a clustering as an HTML page.")
@click.argument("labels", type=click.Path())
@click.argument("consensus", type=click.Path())
@click.option("--cluster-column", metavar="NAME", show_default="its only column",
              help=_CLUSTER)  # fmt: skip
@click.option("--data", type=click.Path(), metavar="FILE", help=_DATA)
@click.option("--data-columns", type=names, metavar="A,B",
              help="Use these columns of it only.")  # fmt: skip
@click.option("--truth", type=click.Path(), metavar="FILE", help=_TRUTH)
@click.option("--truth-column", metavar="NAME", show_default="its only column",
              help="Column of the true classes.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), default="report.html",
              show_default=True, metavar="FILE", help="The page.")  # fmt: skip
@click.option("--title", help="Heading of the page.", show_default="the files")
@table_options
@click.option("-q", "--quiet", is_flag=True, help="No progress, no summary.")
def report(labels, consensus, cluster_column, data, data_columns, truth, truth_column,
           output, title, *, quiet, **choice) -> None:  # fmt: skip
    """Show the clustering in CONSENSUS and the clusterings in LABELS as an HTML page.

    The page opens offline in any browser. All files have one row per object, in the
    same order, and are as in consensus.
    """
    from ensclust import Ensemble
    from ensclust._view.report.page import check_report
    from ensclust.io import read_features, read_labels

    for column, file, option in (
        (truth_column, truth, "--truth"),
        (data_columns, data, "--data"),
    ):
        if column and not file:
            msg = f"Columns are named for {option}, but no file. Add {option} FILE."
            raise click.UsageError(msg)
    check_report(output)
    table = read_table(read_labels, labels, quiet=quiet, **choice)
    calm = {"quiet": quiet}
    found = read_clustering(
        consensus, cluster_column, "--cluster-column", table, **calm
    )
    more: dict[str, Any] = {"cluster_names": _names(consensus, found)}
    if truth:
        classes = read_clustering(truth, truth_column, "--truth-column", table, **calm)
        more |= {"truth": classes.values[:, 0], "class_names": _names(truth, classes)}
    if data:
        features = read_table(read_features, data, columns=data_columns, **calm)
        check_same_objects(data, features, table)
        more["X"] = features.values
    _write(
        output,
        Ensemble(table.values),
        found.values[:, 0],
        ids=found.ids if table.ids is None else table.ids,
        names=table.columns,
        title=title or f"{Path(consensus).name}, from {Path(labels).name}",
        **calm,
        **more,
    )


def check_one_report(path: str, ks: list) -> None:
    """Raise now what would stop the report of a run from being written later."""
    from ensclust._view.report.page import check_report

    if len(ks) > 1:
        msg = f"--report shows one clustering; -k asks for {len(ks)}. Give one k."
        raise click.UsageError(msg)
    check_report(path)


def report_run(
    run: Any,
    source: str,
    model: BaseConsensus,
    ensemble: Ensemble,
    labels: np.ndarray,
    **more: Any,
) -> None:
    """Write the report of a command that ran a method; labels are (n_objects, 1)."""
    title = "Standard input" if source == "-" else Path(source).name
    more = {"model": model, "title": title, **more}
    _write(run.report, ensemble, labels[:, 0], quiet=run.is_silent, **more)


def _write(path: str, ensemble: Ensemble, labels: Any, *, quiet: bool, **more) -> None:
    from ensclust._view.report.facts import collect
    from ensclust._view.report.page import write_page

    with progress(f"report of {ensemble.n_objects:,} objects", quiet=quiet):
        write_page(path, collect(ensemble, labels, call=_command(), **more))
    if not quiet:
        click.echo(f"report written to {path}", err=True)


def _names(path: str, table: Any) -> list[str] | None:
    """Return how a file writes the sorted values of its one column of labels."""
    import numpy as np

    from ensclust.io import read_labels

    if path == "-":
        return None
    name = table.columns[0]
    cells = read_labels(path, columns=[name], id_column=name).ids or []
    values, first = np.unique(table.values[:, 0], return_index=True)
    return [str(cells[i]) for i in first[values >= 0]]


def _command() -> str:
    """Return the command line that runs, with the seed if one was drawn."""
    context = click.get_current_context()
    typed = ["ensclust", *context.meta[TYPED]]
    if context.get_parameter_source("seed") == ParameterSource.DEFAULT:
        typed += ["--seed", str(context.params["seed"])]
    return shlex.join(typed)
