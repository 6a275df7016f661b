"""The commands ``reproduce`` and ``datasets``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ensclust.cli._options import calm

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from ensclust.paper._plan import Selection
    from ensclust.paper._store import Store

COMPARISON = "methods"  # compares all methods; not one of the paper's experiments
INITS = ("k-means++", "greedy-k-means++", "random")
EXPERIMENTS = (
    "table1",
    "table2",
    "table3",
    "table4",
    "table5",
    "figure-size",
    "figure-time",
    "figure-fragments",
)


def _names(text: str) -> tuple[str, ...]:
    """Turn "wine,bc" into ("wine", "bc"), and "none" into ()."""
    names = (part.strip() for part in text.split(","))
    return () if text == "none" else tuple(dict.fromkeys(filter(None, names)))


@click.command(short_help="Repeat the experiments of the ECPCS paper.")
@click.argument("what", nargs=-1, metavar="[WHAT]...",
                type=click.Choice([*EXPERIMENTS, COMPARISON, "all"]))  # fmt: skip
@click.option("--datasets", "names", type=_names, metavar="A,B",
              show_default="all ten", help="Datasets to run.")  # fmt: skip
@click.option("--methods", type=_names, metavar="A,B", show_default="the paper's ten",
              help="Methods to run, or all; see 'ensclust methods'.")  # fmt: skip
@click.option("--runs", type=click.IntRange(min=1), metavar="R", show_default="20",
              help="Number of runs per setting.")  # fmt: skip
@click.option("-o", "--out", type=click.Path(file_okay=False, path_type=Path),
              default=Path("results"), show_default=True, metavar="DIR",
              help="Directory of results; interrupted runs resume.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Three runs on three small datasets.")
@click.option(
    "--true-k",
    is_flag=True,
    help="Use only the true number of clusters, without a search for the best one.",
)
@click.option("--n-jobs", type=int, metavar="J", show_default="one per core",
              help="Number of processes; never changes the result.")  # fmt: skip
@click.option("--data-home", metavar="DIR", show_default="ENSCLUST_DATA",
              help="Directory with dataset files such as wine.npz.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), metavar="S",
              help="Random seed; determines the result.")  # fmt: skip
@click.option("--init", type=click.Choice(INITS), show_default=True,
              default="k-means++", help="Initialisation of k-means.")  # fmt: skip
@click.option("--standardize", type=_names, default="wine", show_default=True,
              metavar="A,B", help="Datasets to z-score, or none.")  # fmt: skip
@click.option("--report-only", is_flag=True, help="Only summarise existing results.")
@click.option("-q", "--quiet", is_flag=True, callback=calm, help="Show no progress.")
def reproduce(what, names, methods, runs, out, data_home, seed, init, standardize,
              n_jobs, *, quick, true_k, report_only, quiet) -> None:  # fmt: skip
    """Repeat the experiments of the ECPCS paper and compare with the published figures.

    The paper is Huang et al., doi:10.1109/TSMC.2018.2876202. WHAT is any of table1 to
    table5, figure-size, figure-time and figure-fragments; all of them by default. It
    may also be methods, which runs all methods of ensclust with ten numbers of clusters
    each. Methods that are not in the paper are compared with its ten methods in
    methods.md; the paper's tables do not change. Results, tables and figures are
    written to the directory --out; an interrupted run resumes when it is started again.
    """
    from ensclust._support.json_files import read_json
    from ensclust._support.parallel import thread_count
    from ensclust._support.validation import check_choice
    from ensclust.datasets._load import data_directory
    from ensclust.paper import (
        _beside,
        _protocol,
        _records,
        _report,
        _store,
        _summary,
    )

    for name in standardize:
        check_choice(name, "--standardize", _protocol.DATASETS)
    chosen = EXPERIMENTS if not what or "all" in what else tuple(dict.fromkeys(what))
    drawn = {} if seed is None else {"seed": seed}
    rules = _protocol.Protocol(init=init, standardized=standardize, **drawn)
    store = _store.Store(out, rules, data_home)
    selection = _selection(chosen, names, methods, runs, quick=quick, true_k=true_k)
    data_directory(data_home)
    thread_count(n_jobs)
    if report_only and not (store.work.is_dir() or (out / _records.RESULTS).exists()):
        msg = f"{out} contains no results. Leave out --report-only to compute them."
        raise ValueError(msg)
    store.open()
    failures = _report.produce(
        store,
        selection,
        _command(chosen, selection, store),
        n_jobs=n_jobs,
        report_only=report_only,
        quiet=quiet,
    )
    if table := _summary.as_text(read_json(out / "summary.json")):
        click.echo(f"{table}\n")
    if table := _beside.as_text(out):
        click.echo(f"{table}\n")
    click.echo(f"Tables and figures are in {out}, the whole summary in:")
    click.echo(out / "summary.md")
    if failures:
        msg = f"{len(failures)} runs failed, such as {failures[0]}"
        raise click.ClickException(msg)


def _command(chosen, selection: Selection, store: Store) -> str:
    """Return the command with everything that determines its results."""
    from ensclust.datasets._load import data_directory
    from ensclust.paper import _protocol

    rules, usual = store.protocol, _protocol.Protocol()
    options = [
        (
            selection.datasets != _protocol.DATASETS,
            f"--datasets {','.join(selection.datasets)}",
        ),
        (
            selection.methods != _protocol.METHODS,
            f"--methods {','.join(selection.methods)}",
        ),
        (True, f"--runs {selection.runs}"),
        (not selection.is_swept, "--true-k"),
        (rules.seed != usual.seed, f"--seed {rules.seed}"),
        (rules.init != usual.init, f"--init {rules.init}"),
        (
            rules.standardized != usual.standardized,
            f"--standardize {','.join(rules.standardized) or 'none'}",
        ),
        (data_directory(store.data_home), "--data-home DIR"),
    ]
    what = ["all"] if chosen == EXPERIMENTS else chosen
    given = [text for is_given, text in options if is_given]
    return " ".join(["ensclust reproduce", *what, *given])


def _selection(chosen, names, methods, runs, *, quick: bool, true_k: bool) -> Selection:
    """Return what to run, or raise if a name is unknown."""
    from ensclust._methods import METHODS
    from ensclust._support.validation import check_choices
    from ensclust.paper import _protocol
    from ensclust.paper._plan import NEEDS, Selection

    usual = _protocol.METHODS
    if methods == ("all",) or (methods is None and chosen == (COMPARISON,)):
        methods = usual = tuple(METHODS)
    for given, option, known in (
        (names, "--datasets", _protocol.DATASETS),
        (methods, "--methods", tuple(METHODS)),
    ):
        if given is not None:
            check_choices(given, option, known)
    return Selection(
        needs=frozenset(need for name in chosen for need in NEEDS[name]),
        datasets=names or (_protocol.QUICK_DATASETS if quick else _protocol.DATASETS),
        methods=tuple(m for m in methods or usual if m in METHODS),
        runs=runs or (_protocol.QUICK_RUNS if quick else _protocol.RUNS),
        is_swept=not true_k,
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
def datasets(*, as_json: bool) -> None:
    """List the benchmark datasets."""
    from ensclust import datasets as registry

    infos = [registry.info(name) for name in registry.names()]
    if as_json:
        facts = {
            info.name: {
                "title": info.title,
                "n_objects": info.n_objects,
                "n_clusters": info.n_clusters,
                "n_features": info.n_features,
                "licence": info.licence,
                "source": info.source,
                "provider": info.provider,
            }
            for info in infos
        }
        click.echo(json.dumps(facts))
        return
    for info in infos:
        here = info.provider or "not included; read from ENSCLUST_DATA or OpenML"
        click.echo(
            f"{click.style(info.name, bold=True)}: {info.title}\n"
            f"    {info.n_objects:,} objects, {info.n_features:,} features, "
            f"{info.n_clusters} classes\n"
            f"    {info.licence}; {here}\n"
            f"    {info.source}"
        )
