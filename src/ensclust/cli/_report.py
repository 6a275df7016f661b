"""The commands ``certainty`` and ``report``: evaluate a clustering from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import ensclust
from ensclust.cli._options import (
    check_page,
    json_option,
    names,
    page_options,
    quiet_option,
    table_options,
    to_stdout,
)
from ensclust.cli._run import write_report
from ensclust.cli._tables import (
    check_same_objects,
    read_clustering,
    read_sweep,
    read_table,
)

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415


@click.command(short_help="Show how certain a consensus is.")
@click.argument("labels", type=click.Path())
@click.argument("consensus", type=click.Path())
@click.option("--cluster-column", metavar="NAME", show_default="its only column",
              help="Column of CONSENSUS to evaluate.")  # fmt: skip
@table_options
@json_option
@quiet_option
@to_stdout
def certainty(labels, consensus, cluster_column, *, as_json, quiet, **choice) -> None:
    """Show how well the clusterings in LABELS support the one in CONSENSUS.

    Summarises the certainty per object, cluster and base clustering; --json prints all
    values. Both files have one row per object, in the same order, and the format that
    ensclust consensus reads.
    """
    calm = {"quiet": quiet or as_json}
    table = read_table(ensclust.io.read_labels, labels, **calm, **choice)
    judged = read_clustering(
        consensus, cluster_column, "--cluster-column", table, **calm
    )
    ensemble = ensclust.Ensemble(table.values)
    try:
        found = ensclust.Certainty.of(
            ensemble, judged.values[:, 0], names=list(table.columns)
        )
    except ValueError as error:
        msg = f"{consensus}: {error}"
        raise ValueError(msg) from error
    click.echo(json.dumps(found.to_dict()) if as_json else str(found))


@click.command(short_help="Show a clustering as an HTML page.")
@click.argument("labels", type=click.Path())
@click.argument("consensus", type=click.Path())
@click.option("--cluster-column", metavar="NAME", show_default="its only column",
              help="Column of CONSENSUS to report.")  # fmt: skip
@click.option("--data", type=click.Path(), metavar="FILE",
              help="Table of features for a map of the objects; two or three columns "
              "are shown as they are.")  # fmt: skip
@click.option("--data-columns", type=names, metavar="A,B",
              help="Use only these columns of it; in an h5ad file also an entry of "
              "obsm such as X_umap.")  # fmt: skip
@page_options
@click.option("--truth", type=click.Path(), metavar="FILE",
              help="File with the true classes.")  # fmt: skip
@click.option("--truth-column", metavar="NAME", show_default="its only column",
              help="Column of --truth to use.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), default="report.html",
              show_default=True, metavar="FILE", help="File to write.")  # fmt: skip
@click.option("--title", help="Heading of the page.", show_default="the file names")
@table_options
@quiet_option
def report(labels, consensus, cluster_column, data, data_columns, map_of, sweep,
           sweep_columns, truth, truth_column, output, title, *, quiet,
           **choice) -> None:  # fmt: skip
    """Show the clustering in CONSENSUS and the clusterings in LABELS as an HTML page.

    The page opens offline in any browser. All files have one row per object, in the
    same order, and a format that ensclust consensus or cluster reads. Colours that
    scanpy left in an h5ad file are kept.
    """
    from ensclust._view.report.page import check_report

    for column, file, option in (
        (truth_column, truth, "--truth"),
        (data_columns, data, "--data"),
    ):
        if column and not file:
            msg = f"Columns are given for {option}, but no file. Add {option} FILE."
            raise click.UsageError(msg)
    check_page(map_of, sweep, sweep_columns, data)
    check_report(output)
    table = read_table(ensclust.io.read_labels, labels, quiet=quiet, **choice)
    found = read_clustering(
        consensus, cluster_column, "--cluster-column", table, quiet=quiet
    )
    cluster_names = _names(consensus, found)
    more: dict[str, Any] = {"cluster_names": cluster_names, "map_of": map_of}
    more["colors"] = _colors(consensus, found.columns[0], cluster_names)
    if truth:
        classes = read_clustering(
            truth, truth_column, "--truth-column", table, quiet=quiet
        )
        more |= {"truth": classes.values[:, 0], "class_names": _names(truth, classes)}
    if data:
        features = read_table(
            ensclust.io.read_features, data, columns=data_columns, quiet=quiet
        )
        check_same_objects(data, features, table)
        more |= {"X": features.values, "feature_names": features.columns}
    more |= read_sweep(sweep, sweep_columns, table, quiet=quiet)
    write_report(
        output,
        ensclust.Ensemble(table.values),
        found.values[:, 0],
        ids=found.ids if table.ids is None else table.ids,
        names=table.columns,
        title=title or f"{Path(consensus).name}, from {Path(labels).name}",
        quiet=quiet,
        **more,
    )


def _colors(path: str, column: str, clusters: list[str] | None) -> list[str] | None:
    """Return the colours of the clusters in an h5ad file, None unless it has all."""
    from ensclust._files import h5ad

    if clusters is None or Path(path).suffix != ".h5ad":
        return None
    found = h5ad.colors(Path(path), column) or {}
    return [found[name] for name in clusters] if {*clusters} <= {*found} else None


def _names(path: str, table: Any) -> list[str] | None:
    """Return how a file spells the sorted values of its single column of labels."""
    import numpy as np

    if path == "-":
        return None
    name = table.columns[0]
    cells = ensclust.io.read_labels(path, columns=[name], id_column=name).ids or []
    values, first = np.unique(table.values[:, 0], return_index=True)
    return [str(cells[i]) for i in first[values >= 0]]
