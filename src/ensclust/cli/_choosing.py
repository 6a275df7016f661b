"""The commands ``methods``, ``compare``, ``select-k``, ``split-half``: what to run."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import ensclust
from ensclust._kernels._compiling import stopwatch
from ensclust._support.progress import progress
from ensclust.cli._messages import in_lines, in_options
from ensclust.cli._options import (
    IntegerRange,
    jobs_option,
    json_option,
    k_range,
    names,
    no_stdout,
    noise_option,
    overwrite_option,
    quiet_option,
    run_options,
    seed_option,
    several_k,
    table_options,
    to_stdout,
)
from ensclust.cli._run import Run
from ensclust.cli._tables import check_same_objects, read_clustering, read_table

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415


if TYPE_CHECKING:
    from ensclust._support.documentation import MethodInfo

_KEY = """
N objects, M base clusterings, Nc base clusters, F distinct label rows"""


@click.command()
@json_option
def methods(*, as_json: bool) -> None:
    """List the consensus methods."""
    from ensclust._methods import METHODS
    from ensclust._support.documentation import FAMILIES

    about = {name: METHODS.method(name).info for name in METHODS}
    if as_json:
        click.echo(json.dumps({name: asdict(facts) for name, facts in about.items()}))
        return
    width = max(map(len, about))
    for family, title in (FAMILIES | {"": "Others"}).items():
        own = {
            name: facts
            for name, facts in about.items()
            if (facts.family if facts.family in FAMILIES else "") == family
        }
        if own:
            click.secho(title, bold=True)
        for name, facts in own.items():
            click.echo(_described(f"  {name:{width}}  ", facts))
    click.echo(_KEY)


def _described(start: str, facts: MethodInfo) -> str:
    """Return what a method does and what it costs, in lines of 80 characters."""
    from ensclust._support.validation import install_line

    title = facts.title + ", finds k itself" * facts.free_k
    about = [f"time {facts.time}", *[f"doi:{facts.doi}"] * bool(facts.doi)]
    wrapper = textwrap.TextWrapper(80 - len(start), break_on_hyphens=False)
    lines = wrapper.wrap("; ".join(about))
    if facts.needs and not find_spec(facts.needs):
        lines.append(install_line(facts.needs))
    return ("\n" + " " * len(start)).join([f"{start}{title}", *lines])


@click.command(short_help="Compare several methods on the same clusterings.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--n-clusters", type=IntegerRange(1), required=True, metavar="K",
              help="Number of consensus clusters.")  # fmt: skip
@click.option("--methods", type=names, metavar="A,B",
              show_default="those of the ECPCS paper",
              help="Methods to compare, or all; see 'ensclust methods'."
              )  # fmt: skip
@click.option("--truth", metavar="FILE|COLUMN",
              help="True classes: a file, or a column of LABELS, which is then not "
              "used as a base clustering. Adds NMI, ARI and ECS.")  # fmt: skip
@click.option("--truth-column", metavar="NAME", show_default="the only column",
              help="Column of the file that holds the true classes.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), metavar="FILE", callback=no_stdout,
              help="Also write the labels, one column per method.")  # fmt: skip
@overwrite_option
@seed_option
@jobs_option
@table_options
@json_option
@quiet_option
@to_stdout
def compare(labels, n_clusters, methods, truth, truth_column, output, seed, n_jobs, *,
            overwrite, as_json, quiet, **choice) -> None:  # fmt: skip
    """Run several methods on the clusterings in LABELS and compare the results.

    Prints the mean NMI with the base clusterings (ANMI) and the time of each method,
    and how well the methods agree with each other. LABELS has the format that ensclust
    consensus reads.
    """
    from ensclust._files import h5ad
    from ensclust._methods.table import usual_methods
    from ensclust._support.validation import check_choices

    methods = ensclust.methods() if methods == ["all"] else methods
    named = [name for name in methods or () if ":" not in name]  # else in a module
    if named or methods == []:
        check_choices(named, "--methods", ("all", *ensclust.methods()))
    if output:
        ensclust.io.check_output(output, source=labels)
        if Path(output).suffix.lower() == ".h5ad":
            entries = {"obs": methods or list(usual_methods())}
            h5ad.check_free(Path(labels), entries, overwrite=overwrite)
    is_silent = quiet or as_json
    runs, ids, classes = _read(labels, truth, truth_column, choice, quiet=is_silent)
    doing = f"comparing {len(methods or usual_methods())} methods"
    with progress(doing, quiet=is_silent):
        found = ensclust.compare(
            runs,
            n_clusters,
            methods,
            truth=classes,
            random_state=seed,
            n_jobs=n_jobs,
        )
    if output:
        ensclust.io.write_labels(
            output,
            found.labels,
            source=labels,
            names=found.methods,
            ids=ids,
            overwrite=overwrite,
        )
    if not as_json:
        written = f"; labels written to {output}" if output else ""
        click.echo(f"{found}\nseed {seed}{written}")
        return
    facts = {
        "k": n_clusters,
        "seed": seed,
        "n_objects": len(runs),
        "n_clusterings": runs.shape[1],
        "output": output,
        "methods": [
            {"name": row.pop("method"), **row, "seconds": round(row["seconds"], 4)}
            for row in found.table
        ],
        "left_out": found.left_out,
        "agreement": found.agreement.tolist(),
    }
    click.echo(json.dumps(facts))


def _read(labels: str, truth: str | None, column: str | None, choice: dict, *,
          quiet: bool) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return base clusterings, the ids of objects, and the true classes if given."""
    import numpy as np

    is_file = truth is not None and Path(truth).is_file()
    if column and not is_file:
        msg = f"--truth-column {column} needs --truth FILE, an existing file."
        raise click.UsageError(msg)
    if truth and choice["columns"] and not is_file:
        others = [name for name in choice["columns"] if name != truth]
        choice = choice | {"columns": [*others, truth]}
    table = read_table(ensclust.io.read_labels, labels, quiet=quiet, **choice)
    if truth is None:
        return table.values, table.ids, None
    if is_file:
        found = read_clustering(truth, column, "--truth-column", table, quiet=quiet)
        return table.values, table.ids, found.values[:, 0]
    if truth not in table.columns or len(table.columns) == 1:
        msg = (
            f"--truth {truth} is neither a file nor one of several columns of "
            f"{labels}, which has {', '.join(table.columns)}."
        )
        raise click.UsageError(msg)
    at = table.columns.index(truth)
    return np.delete(table.values, at, axis=1), table.ids, table.values[:, at]


@click.command("select-k", short_help="Suggest a number of clusters.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--k-range", type=k_range, metavar="LO-HI",
              show_default="2 to the square root of the number of objects, at most 50",
              help="Numbers of clusters to try.")  # fmt: skip
@click.option("--data", type=click.Path(), metavar="FILE",
              help="Table of the features that LABELS were made from. Without them, "
              "clusters cannot be distinguished from noise.")  # fmt: skip
@click.option("--data-columns", type=names, metavar="A,B",
              help="Use only these columns of it.")  # fmt: skip
@run_options("ecpcs-hc")
@to_stdout
def select_k(labels, k_range, data, data_columns, **options) -> None:
    """Suggest a number of clusters for the base clusterings in the columns of LABELS.

    LABELS has the format that ensclust consensus reads, or is - for CSV on stdin. Each
    number of clusters is evaluated by several criteria; a star marks what each of them
    suggests. With --data, a table of the features with its rows in the same order as
    LABELS, the answer is 1 if the features look like noise.
    """
    if data_columns and not data:
        msg = "--data-columns needs --data FILE."
        raise click.UsageError(msg)
    run = Run("labels", labels, k_range or [2], **options)
    settings = run.settings()
    table = run.read(ensclust.io.read_labels)
    if data:
        features = read_table(
            ensclust.io.read_features, data, columns=data_columns, quiet=run.is_silent
        )
        check_same_objects(data, features, table)
        settings |= {"X": features.values, "scale": "auto"}
    clock = stopwatch()
    with progress(f"evaluating {len(table.values):,} objects", quiet=run.is_silent):
        found = ensclust.select_k(table.values, k_range, run.method, **settings)
    seconds = round(clock(), 3)
    if run.as_json:
        facts = {
            "method": run.method,
            "seed": run.seed,
            "n_judged": found.n_judged,
            "best_k": found.best_k,
            "best_k_range": found.best_k_range,
            "p": found.p,
            "verdict": found.verdict,
            "suggested": found.suggested,
            "table": [
                {name: None if isnan(value) else value for name, value in row.items()}
                for row in found.table
            ],
            "seconds": seconds,
        }
        click.echo(json.dumps(facts))
        return
    click.echo(str(found))
    if not run.quiet:
        click.echo(
            f"{run.method}: k = {found.best_k}; {found.n_judged:,} objects evaluated, "
            f"{seconds:.2f} s, seed {run.seed}\n{in_lines(in_options(found.outcome))}\n"
            "  * marks what each criterion suggests",
            err=True,
        )


@click.command("split-half", short_help="Compare the consensus of random halves.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--n-clusters", type=several_k, metavar="K",
              help="Number of consensus clusters, or auto, which each half chooses for "
              "itself. Required, except for methods such as communities that find the "
              "number themselves.")  # fmt: skip
@click.option("-n", "--splits", type=IntegerRange(1), default=20, show_default=True,
              metavar="N", help="Number of splits.")  # fmt: skip
@noise_option
@run_options("ecpcs-mc")
@to_stdout
def split_half(labels, n_clusters, splits, **options) -> None:
    """Compare the consensus of random halves of the clusterings in LABELS.

    Splits them at random into two halves, many times, and shows how well the consensus
    of one half agrees with that of the other. --json includes the values of each
    object. LABELS has the format that ensclust consensus reads.
    """
    ks = n_clusters or [None]
    if len(ks) > 1:
        msg = f"split-half tests one clustering; -k asks for {len(ks)}. Use one k."
        raise click.UsageError(msg)
    run = Run("labels", labels, ks, **options)
    settings = run.settings()
    table = run.read(ensclust.io.read_labels)
    ensemble = ensclust.Ensemble(table.labels(run.noise), noise=run.noise)
    doing = f"splitting {table.values.shape[1]} clusterings"
    with progress(doing, quiet=run.is_silent):
        found = ensclust.split_half(ensemble, ks[0], run.method, n=splits, **settings)
    if run.as_json:
        about = {"k": ks[0], "seed": run.seed, "n_objects": len(found.objects)}
        click.echo(json.dumps(found.to_dict() | about))
        return
    click.echo(f"{found}\nseed {run.seed}" if not run.quiet else str(found))
