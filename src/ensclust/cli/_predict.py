"""The command ``predict``: label new objects with a saved model."""

from __future__ import annotations

import json
from pathlib import Path

import click

import ensclust
from ensclust.cli._options import (
    json_option,
    output_option,
    overwrite_option,
    quiet_option,
    table_options,
)
from ensclust.cli._run import in_sizes
from ensclust.cli._tables import read_table

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415


@click.command(short_help="Label new objects with a saved model.")
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@output_option
@overwrite_option
@table_options
@json_option
@quiet_option
def predict(
    model, data, output, *, overwrite: bool, as_json: bool, quiet: bool, **choice
) -> None:
    """Label the rows of DATA with MODEL, a file saved by cluster --model.

    DATA has the format that ensclust cluster reads, and the columns that the model was
    fitted to, in any order; other columns are ignored. If the columns have other names
    in DATA, list them with --columns.
    """
    import numpy as np

    from ensclust._files.models import read_model
    from ensclust._methods.anndata_entries import check_free, write_predicted

    ensclust.io.check_output(output, source=data)
    if Path(output).suffix.lower() == ".h5ad":
        check_free(data, ["consensus"], overwrite=overwrite)
    fitted, columns = read_model(model)
    if fitted._is_precomputed():
        msg = (
            f"{model} combines labels, which each file numbers in its own way. Use "
            "Python: ensclust.io.load_model(path).predict(labels)."
        )
        raise click.UsageError(msg)
    # The names that the model knows are matched whatever their order.
    if not choice["columns"] or sorted(choice["columns"]) == sorted(columns or ()):
        choice["columns"] = columns
    is_silent = quiet or as_json
    table = read_table(ensclust.io.read_features, data, quiet=is_silent, **choice)
    labels = fitted.predict(table.values)
    if Path(output).suffix.lower() == ".h5ad":
        write_predicted(output, data, labels, fitted.labels_)
    elif not (as_json and output == "-"):
        ensclust.io.write_labels(output, labels, ids=table.ids)
    sizes = np.bincount(labels[labels >= 0], minlength=fitted.n_clusters_).tolist()
    if as_json:
        facts = {
            "model": model,
            "method": fitted._method_name(),
            "n_objects": len(labels),
            "n_clusters": fitted.n_clusters_,
            "sizes": sizes,
            "output": None if output == "-" else output,
        }
        if output == "-":
            facts |= {"labels": labels.tolist()}
            facts |= {} if table.ids is None else {"objects": table.ids}
        click.echo(json.dumps(facts))
    elif not quiet:
        lines = [
            f"{fitted._method_name()} of {model}: {len(labels):,} objects",
            f"  {in_sizes(sizes, len(labels) - sum(sizes))}",
            *[f"  labels written to {output}"] * (output != "-"),
        ]
        click.echo("\n".join(lines), err=True)
