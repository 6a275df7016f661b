"""The commands ``methods``, ``compare`` and ``select-k``: which method, how many k."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from math import isnan

import click

import ensclust
from ensclust._support.progress import progress
from ensclust.cli._options import (
    IntegerRange,
    jobs_option,
    json_option,
    k_range,
    names,
    no_stdout,
    quiet_option,
    run_options,
    seed_option,
    table_options,
)
from ensclust.cli._run import Run, read_table

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415


@click.command()
@json_option
def methods(*, as_json: bool) -> None:
    """List the consensus methods."""
    from ensclust._methods import METHODS

    about = {name: method.info for name, method in METHODS.items()}
    if as_json:
        click.echo(json.dumps({name: asdict(facts) for name, facts in about.items()}))
        return
    for name, facts in about.items():
        click.echo(
            f"{click.style(name, bold=True)}: {facts.title} ({facts.level} level)\n"
            f"    time {facts.time}; memory {facts.memory}\n"
            f"    https://doi.org/{facts.doi}"
        )
    click.echo(
        "N objects, M base clusterings, Nc base clusters, F distinct label rows\n"
        "--method best runs some of them and keeps what agrees best with the inputs"
    )


@click.command(short_help="See several methods side by side.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--n-clusters", type=IntegerRange(1), required=True, metavar="K",
              help="Number of consensus clusters.")  # fmt: skip
@click.option("--methods", type=names, metavar="A,B", show_default="all",
              help="Methods to compare.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), metavar="FILE", callback=no_stdout,
              help="File for the labels, a column for each method.")  # fmt: skip
@seed_option
@jobs_option
@table_options
@json_option
@quiet_option
def compare(labels, n_clusters, methods, output, seed, n_jobs, *, as_json, quiet,
            **choice) -> None:  # fmt: skip
    """Run several methods on the clusterings in LABELS and compare the results.

    Shows for each method its mean NMI with the base clusterings (ANMI) and its time,
    and how far the methods agree with one another. LABELS is as in consensus.
    """
    from ensclust._support.validation import check_choice

    for name in methods or ():
        if ":" not in name:  # else a class of a module
            check_choice(name, "--methods", tuple(ensclust.methods()))
    if output:
        ensclust.io.check_output(output, source=labels)
    is_silent = quiet or as_json
    table = read_table(ensclust.io.read_labels, labels, quiet=is_silent, **choice)
    doing = f"comparing {len(methods or ensclust.methods())} methods"
    with progress(doing, quiet=is_silent):
        found = ensclust.compare(
            table.values, n_clusters, methods, random_state=seed, n_jobs=n_jobs
        )
    if output:
        ensclust.io.write_labels(
            output, found.labels, source=labels, names=found.methods, ids=table.ids
        )
    if not as_json:
        written = f"; labels written to {output}" if output else ""
        click.echo(f"{found}\nseed {seed}{written}")
        return
    per_method = [
        {"name": name, "n_clusters": k, "anmi": anmi, "seconds": s}
        for name, k, anmi, s in zip(
            found.methods,
            found.n_clusters,
            found.anmi.tolist(),
            found.seconds.round(4).tolist(),
            strict=True,
        )
    ]
    facts = {
        "k": n_clusters,
        "seed": seed,
        "n_objects": len(table.values),
        "n_clusterings": table.values.shape[1],
        "output": output,
        "methods": per_method,
        "agreement": found.agreement.tolist(),
    }
    click.echo(json.dumps(facts))


@click.command("select-k", short_help="Find how many clusters there are.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--k-range", type=k_range, metavar="LO-HI",
              show_default="2 to the square root of the number of objects, at most 50",
              help="Numbers of clusters to try.")  # fmt: skip
@run_options("ecpcs-hc")
def select_k(labels, k_range, **options) -> None:
    """Say how many clusters suit the base clusterings in the columns of LABELS.

    LABELS is a file as for consensus, or - for CSV on stdin. Every number of clusters
    is judged by several criteria; a star marks what each suggests.
    """
    run = Run("labels", labels, k_range or [2], **options)
    settings = run.settings()
    table = run.read(ensclust.io.read_labels)
    start = time.perf_counter()
    with progress(f"judging {len(table.values):,} objects", quiet=run.is_silent):
        found = ensclust.select_k(table.values, k_range, run.method, **settings)
    seconds = round(time.perf_counter() - start, 3)
    if run.as_json:
        facts = {
            "method": run.method,
            "seed": run.seed,
            "n_judged": found.n_judged,
            "best_k": found.best_k,
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
            f"{run.method}: k = {found.best_k}; {found.n_judged:,} objects judged, "
            f"{seconds:.2f} s, seed {run.seed}",
            err=True,
        )
