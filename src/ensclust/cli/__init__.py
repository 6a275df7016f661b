"""The command line. Data goes to stdout; progress, summaries and errors to stderr."""

from __future__ import annotations

import atexit
import gc
import json
import re
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from ensclust import __version__
from ensclust._support.progress import progress
from ensclust.cli._files_commands import certainty, compare, demo, info, read_table
from ensclust.cli._options import (
    IntegerRange,
    base_k,
    json_option,
    k_range,
    one_k,
    output_option,
    report_option,
    run_options,
    several_k,
)
from ensclust.cli._paper import datasets, reproduce
from ensclust.cli._report import TYPED, check_one_report, report, report_run
from ensclust.cli._stream_command import takes_streams

# Commands import what is heavy when they run, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ensclust._methods.base import BaseConsensus
    from ensclust.io import Table

_SHOWN = 12  # cluster sizes in a summary

_K = "Number of consensus clusters, or auto; for eac also lifetime."
_KS = f"{_K} Several give a column each."
_K_RANGE = "Numbers of clusters to try."
_K_RANGE_DEFAULT = "2 to the square root of the number of objects, at most 50"
_BASE_K = "Clusters per base clustering: drawn from LO to HI, or one number."
_BASE_K_DEFAULT = "from K to the square root of the number of objects, at most 100"
_COMPLETION = """\b
Completion of commands, options, methods and files with the Tab key:
  bash: eval "$(_ENSCLUST_COMPLETE=bash_source ensclust)"    in ~/.bashrc
  zsh:  eval "$(_ENSCLUST_COMPLETE=zsh_source ensclust)"     in ~/.zshrc
  fish: _ENSCLUST_COMPLETE=fish_source ensclust | source     in config.fish
"""
_NOISE = (
    "What a negative cell means: left out, as empty ones, or in a cluster of noise."
)
_STANDARDIZE = "Give every column mean 0 and standard deviation 1 first."


class _Commands(click.Group):
    """A group that says what is wrong in one line and exits with 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run; usage errors look like all other errors."""
        kwargs["standalone_mode"] = False  # or click would print them itself
        atexit.register(gc.freeze)  # else 0.4 s go by in search of cycles nobody needs
        try:
            status = super().main(*args, **kwargs)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            hint = f" See '{context.command_path} --help'." if context else ""
            _say("error", error.format_message().rstrip(".") + "." + hint)
            status = error.exit_code
        except click.Abort:
            status = 130
        sys.exit(status)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed, for reports to repeat."""
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its errors and warnings become one line each."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: _say("warning", message)
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as stop:
                where = f": {stop}" if stop.args else ""
                click.echo(f"ensclust: interrupted{where}", err=True)
                ctx.exit(130)
            except BrokenPipeError:  # "| head" has seen enough: click ends quietly
                raise
            except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
                if ctx.params["debug"]:
                    traceback.print_exc()
                _say("error", str(error) or type(error).__name__)
                ctx.exit(2)


@dataclass(frozen=True)
class _Run:
    """What commands that run a method have in common, from options to output."""

    method: str
    param: tuple[tuple[str, Any], ...]
    seed: int
    n_jobs: int | None
    columns: list[str] | None
    id_column: str | None
    header: bool | None
    as_json: bool
    quiet: bool
    output: str = "-"
    report: str | None = None

    @property
    def is_silent(self) -> bool:
        """Whether only data, warnings and errors are wanted."""
        return self.quiet or self.as_json

    def settings(self, source: str, ks: list[int | str]) -> dict[str, Any]:
        """Return the method's parameters, after all that can be checked early."""
        from ensclust._methods import make
        from ensclust._methods.base import BaseConsensus
        from ensclust.io import check_output

        check_output(self.output, source=source)
        if self.report:
            check_one_report(self.report, ks)
        settings = {"random_state": self.seed, "n_jobs": self.n_jobs}
        model = make(self.method, **settings)
        own = sorted(model.get_params().keys() - BaseConsensus().get_params().keys())
        for name, _ in self.param:
            if name not in own:
                known = f"It takes {', '.join(own) or 'none'}."
                msg = f"{self.method} has no parameter {name!r} for -p. {known}"
                raise click.UsageError(msg)
        if "lifetime" in ks and self.method != "eac":
            msg = f"-k lifetime needs -m eac; {self.method} takes a number or auto."
            raise click.UsageError(msg)
        for k in ks:
            model.set_params(n_clusters=k, **dict(self.param))._validate_params()
        return {**settings, **dict(self.param)}

    def read(self, reader: Callable[..., Table], path: str) -> Table:
        """Read the columns asked for."""
        return read_table(
            reader,
            path,
            quiet=self.is_silent,
            columns=self.columns,
            id_column=self.id_column,
            header=self.header,
        )

    def deliver(
        self,
        source: str,
        table: Table,
        ks: list[int | str],
        labels: np.ndarray,
        seconds: float,
        model: BaseConsensus,
    ) -> None:
        """Write the labels, (n_objects, len(ks)), and say what was found."""
        from ensclust.io import write_labels

        if self.output != "-" or not self.as_json:
            names = ["cluster"] if len(ks) == 1 else [f"k{k}" for k in ks]
            shown = labels[:, 0] if len(ks) == 1 else labels
            write_labels(self.output, shown, names=names, ids=table.ids, source=source)
        sizes = [_sizes(column) for column in labels.T]
        compared = getattr(model, "comparison_", []) if len(ks) == 1 else []
        if self.as_json:
            facts = self._facts(ks, labels, sizes)
            if compared:
                facts |= {"best_method": model.best_method_, "comparison": compared}
            if table.ids is not None and "labels" in facts:
                facts["objects"] = table.ids
            click.echo(json.dumps({**facts, "seconds": round(seconds, 3)}))
        elif not self.quiet:
            size = f"{len(labels):,} objects, {seconds:.2f} s, seed {self.seed}"
            click.echo(f"{self.method}: {size}", err=True)
            for k, counts in zip(ks, sizes, strict=True):
                words = _in_words(counts, len(labels) - sum(counts))
                click.echo(f"  k={k}: {words}", err=True)
            for row in compared:
                words = "ANMI {anmi:.4f}, k={n_clusters}, {seconds:.2f} s".format(**row)
                kept = ", kept" * (row is compared[0])
                click.echo(f"  {row['method']}: {words}{kept}", err=True)
            if self.output != "-":
                click.echo(f"  labels written to {self.output}", err=True)

    def _facts(self, ks: list, labels: np.ndarray, sizes: list) -> dict[str, Any]:
        per_k: dict[str, list] = {"k": ks, "sizes": sizes}
        per_k |= {"n_clusters": [len(counts) for counts in sizes]}
        if self.output == "-":
            per_k |= {"labels": labels.T.tolist()}
        return {
            "method": self.method,
            "seed": self.seed,
            "n_objects": len(labels),
            "output": None if self.output == "-" else self.output,
            **({name: v[0] for name, v in per_k.items()} if len(ks) == 1 else per_k),
        }


def _sizes(labels: np.ndarray) -> list[int]:
    import numpy as np

    return np.bincount(labels[labels >= 0]).tolist()


def _in_words(sizes: list[int], n_absent: int) -> str:
    largest = [f"{size:,}" for size in sorted(sizes, reverse=True)]
    if len(largest) > _SHOWN:
        largest = [*largest[: _SHOWN - 1], "...", largest[-1]]
    words = f"{len(sizes)} cluster{'s' * (len(sizes) != 1)}"
    words += f" of {', '.join(largest)}" if sizes else ""
    return words + (f"; {n_absent:,} not clustered" if n_absent else "")


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    epilog=_COMPLETION,
)
@click.version_option(__version__, prog_name="ensclust")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, *, debug: bool) -> None:
    """Many clusterings of the same objects in, one better clustering out."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command(short_help="Cluster a table of numbers.")
@click.argument("data", type=click.Path())
@click.option("-k", "--n-clusters", type=one_k, required=True, metavar="K", help=_K)
@click.option("--n-clusterings", type=IntegerRange(1), default=20, show_default=True,
              metavar="M", help="Number of base clusterings.")  # fmt: skip
@click.option("--base-k", type=base_k, metavar="LO,HI", help=_BASE_K,
              show_default=_BASE_K_DEFAULT)  # fmt: skip
@click.option("--standardize", is_flag=True, help=_STANDARDIZE)
@output_option
@report_option
@run_options("ecpcs-mc")
@takes_streams("features")
def cluster(data, n_clusters, *, standardize, n_clusterings, base_k, **shared) -> None:
    """Cluster the rows of DATA: many k-means runs, then their consensus.

    DATA is a CSV, TSV, NPY, NPZ, Parquet or h5ad file of numbers with one row per
    object, or - for CSV on stdin. Of an h5ad file, X is used, or with --columns an
    entry of obsm such as X_pca; -o copy.h5ad puts the labels into a copy.
    """
    from ensclust._methods import make
    from ensclust.io import read_features

    run = _Run(**shared)
    settings = run.settings(data, [n_clusters])
    settings |= {"n_clusterings": n_clusterings, "base_k": base_k}
    model = make(run.method, n_clusters=n_clusters, **settings)
    table = run.read(read_features, data)
    start = time.perf_counter()
    with progress(f"clustering {len(table.values):,} objects", quiet=run.is_silent):
        X = _standardized(table.values) if standardize else table.values
        labels = model.fit(X).labels_.reshape(-1, 1)
    run.deliver(data, table, [n_clusters], labels, time.perf_counter() - start, model)
    if run.report:
        report_run(run, data, model, model.ensemble_, labels, ids=table.ids, X=X)


def _standardized(X: np.ndarray) -> np.ndarray:
    from sklearn.preprocessing import StandardScaler

    from ensclust._support.validation import check_magnitude

    return StandardScaler().fit_transform(check_magnitude(X))


@main.command(short_help="Combine clusterings that you have.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--n-clusters", type=several_k, required=True,
              metavar="K[,K...]", help=_KS)  # fmt: skip
@click.option("--noise", type=click.Choice(["missing", "own-cluster"]),
              default="missing", show_default=True, help=_NOISE)  # fmt: skip
@output_option
@report_option
@run_options("ecpcs-mc")
@takes_streams("labels")
def consensus(labels, n_clusters, noise, **shared) -> None:
    """Combine the columns of LABELS, one base clustering each, into one clustering.

    LABELS is a CSV, TSV, NPY, NPZ, Parquet or h5ad file with one row per object, or -
    for CSV on stdin. Labels are integers or text; an empty cell, NA or a negative
    number means "not clustered". Of an h5ad file, --columns names the clusterings in
    obs; -o copy.h5ad puts the labels into a copy.
    """
    import numpy as np

    from ensclust import Ensemble
    from ensclust._methods import make
    from ensclust.io import read_labels

    run = _Run(**shared)
    settings = run.settings(labels, n_clusters)
    model = make(run.method, base="precomputed", **settings)
    table = run.read(read_labels, labels)
    size = "{1:,} clusterings of {0:,} objects".format(*table.values.shape)
    start = time.perf_counter()
    with progress(f"consensus of {size}", quiet=run.is_silent):
        ensemble = Ensemble(table.labels(noise), noise=noise)
        found = np.column_stack(model._fit_all(ensemble, n_clusters))
    run.deliver(labels, table, n_clusters, found, time.perf_counter() - start, model)
    if run.report:
        model.set_params(n_clusters=n_clusters[0], noise=noise)
        names = {"ids": table.ids, "names": table.columns}
        report_run(run, labels, model, ensemble, found, **names)


@main.command("select-k", short_help="Find how many clusters there are.")
@click.argument("labels", type=click.Path())
@click.option("-k", "--k-range", type=k_range, metavar="LO-HI", help=_K_RANGE,
              show_default=_K_RANGE_DEFAULT)  # fmt: skip
@run_options("ecpcs-hc")
def select_k(labels, k_range, **shared) -> None:
    """Say how many clusters suit the base clusterings in the columns of LABELS.

    LABELS is a file as for consensus, or - for CSV on stdin. Every number of clusters
    is judged by several criteria; a star marks what each suggests.
    """
    import ensclust
    from ensclust.io import read_labels

    run = _Run(**shared)
    settings = run.settings(labels, k_range or [2])
    table = run.read(read_labels, labels)
    start = time.perf_counter()
    with progress(f"judging {len(table.values):,} objects", quiet=run.is_silent):
        found = ensclust.select_k(table.values, k_range, run.method, **settings)
    seconds = round(time.perf_counter() - start, 3)
    if run.as_json:
        facts = {"method": run.method, "seed": run.seed, "n_judged": found.n_judged}
        facts |= {"best_k": found.best_k, "suggested": found.suggested}
        rows = [
            {name: None if isnan(value) else value for name, value in row.items()}
            for row in found.table
        ]
        click.echo(json.dumps({**facts, "table": rows, "seconds": seconds}))
        return
    click.echo(str(found))
    if not run.quiet:
        size = f"{found.n_judged:,} objects judged, {seconds:.2f} s, seed {run.seed}"
        click.echo(f"{run.method}: k = {found.best_k}; {size}", err=True)


@main.command()
@json_option
def methods(*, as_json: bool) -> None:
    """List the consensus methods."""
    from ensclust._methods import METHODS

    about = {name: method.info for name, method in METHODS.items()}
    if as_json:
        click.echo(json.dumps({name: asdict(facts) for name, facts in about.items()}))
        return
    for name, facts in about.items():
        title = f"{facts.title} ({facts.level} level)"
        click.echo(f"{click.style(name, bold=True)}: {title}")
        click.echo(f"    time {facts.time}; memory {facts.memory}")
        click.echo(f"    https://doi.org/{facts.doi}")
    click.echo("N objects, M base clusterings, Nc base clusters, F distinct label rows")
    click.echo(
        "--method best runs some of them and keeps what agrees best with the inputs"
    )


for command in (compare, certainty, report, info, demo, reproduce, datasets):
    main.add_command(command)


def _say(kind: str, message: Any) -> None:
    text = re.sub(r"\s*\n\s*", " ", str(message).strip())
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    # Not click.echo, which would write into a moving line of progress.
    print(f"ensclust: {kind}: {text}", file=sys.stderr, flush=True)
