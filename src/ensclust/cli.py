"""The command line. Data goes to stdout; progress, summaries and errors to stderr."""

from __future__ import annotations

import csv
import json
import re
import secrets
import shutil
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ensclust import __version__
from ensclust._progress import progress

# Commands import what is heavy when they run, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from ensclust.io import Table

# Parameters of the estimators that have an option of their own.
_OPTIONS = {
    "n_clusters": "-k",
    "n_clusterings": "--n-clusterings",
    "base_k": "--base-k",
    "random_state": "--seed",
    "n_jobs": "--n-jobs",
}
_SHOWN = 12  # cluster sizes in a summary
_WIDE = 150  # characters that the table of methods wants
_DEMO_K, _DEMO_RUNS = 10, 20
_DEMO_BASE = {"a single k-means": 10, "a base clustering": (10, 42)}

# Help texts.
_METHOD = "Consensus method; 'ensclust methods' lists them."
_PARAM = "Parameter of the method, such as steps=10; repeatable."
_OUTPUT = "CSV, TSV, NPY or Parquet file for the labels  [default: CSV on stdout]"
_SEED = "Decides the result  [default: drawn, and reported]"
_JOBS = "Threads; never changes the result  [default: one per core]"
_HEADER = "Whether the first line of a text file holds names  [default: found out]"
_K = "Number of consensus clusters."
_KS = "Number of consensus clusters; several give a column each."
_BASE_K = (
    "Clusters per base clustering, drawn from LO to HI, or one number  "
    "[default: from K to the square root of the number of objects, at most 100]"
)
_STANDARDIZE = "Give every column mean 0 and standard deviation 1 first."


class _Commands(click.Group):
    """A group that says what is wrong in one line and exits with 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run; usage errors look like all other errors."""
        run: Any = super().main
        if not kwargs.pop("standalone_mode", True):
            return run(*args, standalone_mode=False, **kwargs)
        try:
            status = run(*args, standalone_mode=False, **kwargs)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            hint = f" See '{context.command_path} --help'." if context else ""
            _say("error", error.format_message() + hint)
            status = error.exit_code
        except click.Abort:
            status = 130
        sys.exit(status)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; its errors and warnings become one line each."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: _say("warning", message)
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo("ensclust: interrupted", err=True)
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
    """What ``cluster`` and ``consensus`` have in common, from options to output."""

    method: str
    param: tuple[tuple[str, Any], ...]
    seed: int
    n_jobs: int | None
    columns: list[str] | None
    id_column: str | None
    header: bool | None
    output: str
    as_json: bool
    quiet: bool

    @property
    def is_silent(self) -> bool:
        """Whether only data, warnings and errors are wanted."""
        return self.quiet or self.as_json

    def settings(self) -> dict[str, Any]:
        """Return the method's parameters, after all that can be checked early."""
        from ensclust._methods import make
        from ensclust.io import check_output

        check_output(self.output)
        settings = dict(self.param, random_state=self.seed, n_jobs=self.n_jobs)
        make(self.method, **settings)
        return settings

    def read(self, reader: Callable[..., Table], path: str) -> Table:
        """Read the columns asked for."""
        choice = {"columns": self.columns, "id_column": self.id_column}
        with progress(f"reading {path}", quiet=self.is_silent):
            return reader(path, header=self.header, **choice)

    def deliver(
        self, table: Table, ks: list[int], labels: np.ndarray, seconds: float
    ) -> None:
        """Write the labels, (n_objects, len(ks)), and say what was found."""
        from ensclust.io import write_labels

        if self.output != "-" or not self.as_json:
            names = ["cluster"] if len(ks) == 1 else [f"k{k}" for k in ks]
            shown = labels[:, 0] if len(ks) == 1 else labels
            write_labels(self.output, shown, names=names, ids=table.ids)
        sizes = [_sizes(column) for column in labels.T]
        if self.as_json:
            facts = self._facts(ks, labels, sizes)
            if table.ids is not None and "labels" in facts:
                facts["objects"] = table.ids
            click.echo(json.dumps({**facts, "seconds": round(seconds, 3)}))
        elif not self.quiet:
            size = f"{len(labels):,} objects, {seconds:.2f} s, seed {self.seed}"
            click.echo(f"{self.method}: {size}", err=True)
            for k, counts in zip(ks, sizes, strict=True):
                words = _in_words(counts, len(labels) - sum(counts))
                click.echo(f"  k={k}: {words}", err=True)
            if self.output != "-":
                click.echo(f"  labels written to {self.output}", err=True)

    def _facts(self, ks: list[int], labels: np.ndarray, sizes: list) -> dict[str, Any]:
        per_k = {"k": ks, "n_clusters": [len(counts) for counts in sizes]}
        per_k |= {"sizes": sizes}
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


def _integers(text: str) -> list[int]:
    """Turn "2,3,5" into [2, 3, 5]."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        msg = f"{text!r} is not an integer or a list such as 2,3,5."
        raise click.BadParameter(msg) from None


def _names(text: str) -> list[str]:
    """Turn 'a,"b,c"' into ["a", "b,c"]."""
    return next(csv.reader([text]))


def _parameter(text: str) -> tuple[str, Any]:
    """Turn "steps=10" into ("steps", 10)."""
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    msg = ""
    if not (name and equals):
        msg = f"{text!r} is not of the form name=value."
    elif name in _OPTIONS:
        msg = f"{name} has its own option, {_OPTIONS[name]}."
    elif name == "base":
        msg = "base cannot be set here; the command decides it."
    if msg:
        raise click.BadParameter(msg)
    return name, _value(value.strip())


def _value(text: str) -> int | float | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _run_options(command: Callable) -> Callable:
    """Add the options that make a ``_Run``."""
    option = click.option
    options = [
        option("-m", "--method", default="ecpcs-mc", show_default=True, help=_METHOD),
        option("-p", "--param", type=_parameter, multiple=True, help=_PARAM,
               metavar="NAME=VALUE"),
        option("-o", "--output", default="-", metavar="FILE", help=_OUTPUT),
        option("--seed", type=click.IntRange(min=0), metavar="S", help=_SEED,
               default=lambda: secrets.randbelow(2**31)),
        option("--n-jobs", type=int, metavar="J", help=_JOBS),
        option("--columns", type=_names, metavar="A,B", help="Use these columns only."),
        option("--id-column", metavar="NAME", help="Column that names the objects."),
        option("--header/--no-header", default=None, help=_HEADER),
        option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
        option("-q", "--quiet", is_flag=True, help="No progress, no summary."),
    ]  # fmt: skip
    for add in reversed(options):
        command = add(command)
    return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="ensclust")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, *, debug: bool) -> None:
    """Many clusterings of the same objects in, one better clustering out."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.command()
@click.argument("data")
@click.option("-k", "--n-clusters", type=int, required=True, metavar="K", help=_K)
@click.option("--n-clusterings", default=20, show_default=True, metavar="M",
              help="Number of base clusterings.")  # fmt: skip
@click.option("--base-k", type=_integers, metavar="LO,HI", help=_BASE_K)
@click.option("--standardize", is_flag=True, help=_STANDARDIZE)
@_run_options
def cluster(data, n_clusters, n_clusterings, base_k, *, standardize, **shared) -> None:
    """Cluster the rows of DATA: many k-means runs, then their consensus.

    DATA is a CSV, TSV, NPY, NPZ or Parquet file of numbers with one row per object, or
    - for CSV on stdin.
    """
    from ensclust._methods import make
    from ensclust.io import read_features

    run = _Run(**shared)
    settings = run.settings()
    if base_k is not None and len(base_k) < 3:
        base_k = tuple(base_k) if len(base_k) == 2 else base_k[0]
    settings |= {"n_clusterings": n_clusterings, "base_k": base_k}
    model = make(run.method, n_clusters=n_clusters, **settings)
    table = run.read(read_features, data)
    start = time.perf_counter()
    with progress(f"clustering {len(table.values):,} objects", quiet=run.is_silent):
        X = _standardized(table.values) if standardize else table.values
        labels = model.fit(X).labels_.reshape(-1, 1)
    run.deliver(table, [n_clusters], labels, time.perf_counter() - start)


def _standardized(X: np.ndarray) -> np.ndarray:
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X)


@main.command()
@click.argument("labels")
@click.option("-k", "--n-clusters", type=_integers, required=True, multiple=True,
              metavar="K[,K...]", help=_KS)  # fmt: skip
@_run_options
def consensus(labels, n_clusters, **shared) -> None:
    """Combine the columns of LABELS, one base clustering each, into one clustering.

    LABELS is a CSV, TSV, NPY, NPZ or Parquet file with one row per object, or - for CSV
    on stdin. Labels are integers or text; an empty cell, NA or a negative number means
    "not clustered".
    """
    import ensclust
    from ensclust.io import read_labels

    run = _Run(**shared)
    settings = run.settings()
    ks = list(dict.fromkeys(k for several in n_clusters for k in several))
    table = run.read(read_labels, labels)
    size = "{1:,} clusterings of {0:,} objects".format(*table.values.shape)
    start = time.perf_counter()
    with progress(f"consensus of {size}", quiet=run.is_silent):
        found = ensclust.consensus(table.values, ks, run.method, **settings)
    run.deliver(table, ks, found, time.perf_counter() - start)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def methods(*, as_json: bool) -> None:
    """List the consensus methods."""
    from ensclust._methods import METHODS

    infos = {name: asdict(method.info) for name, method in METHODS.items()}
    if as_json:
        click.echo(json.dumps(infos))
        return
    columns = ["title", "level", "time", "memory", "doi"]
    is_narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _WIDE
    if is_narrow:
        columns.remove("doi")
    rows = [[name, *(info[c] for c in columns)] for name, info in infos.items()]
    _print_table(["name", *columns], rows)
    click.echo("N objects, M base clusterings, Nc base clusters, F distinct label rows")
    for name, info in infos.items() if is_narrow else ():
        click.echo(f"{name}: https://doi.org/{info['doi']}")


@main.command()
@click.option("-o", "--output", default="ensclust-demo-labels.csv", show_default=True,
              metavar="FILE", help="File for the labels.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def demo(output: str, *, as_json: bool) -> None:
    """Compare k-means with every consensus method on handwritten digits."""
    from ensclust.io import check_output, write_labels

    if output == "-":
        msg = "-o - is not possible here: the table goes to stdout. Name a file."
        raise click.UsageError(msg)
    check_output(output)
    labels, scores = _run_demo(quiet=as_json)

    import numpy as np

    write_labels(output, np.column_stack(list(labels.values())), names=list(labels))
    if as_json:
        click.echo(
            json.dumps({"dataset": "digits", "scores": scores, "output": output})
        )
        return
    rows = [
        [
            score["name"],
            *(f"{100 * score[key]:.1f}" for key in ("nmi", "ari")),
            f"{score['seconds']:.2f}",
        ]
        for score in scores
    ]
    n_objects = len(labels["truth"])
    click.echo(f"Handwritten digits: {n_objects:,} images of 8 x 8 pixels, 10 classes")
    _print_table(["", "NMI %", "ARI %", "seconds"], rows, numbers=3, rule_after=2)
    click.echo(
        f"First two rows: mean of {_DEMO_RUNS} runs. Below: each method's consensus of "
        f"the same\n{_DEMO_RUNS} base clusterings. Labels written to {output}"
    )


def _run_demo(*, quiet: bool) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """Return the truth and every method's labels, and a row of scores for each."""
    from sklearn.datasets import load_digits

    import ensclust

    X, truth = load_digits(return_X_y=True)
    labels, scores = {"truth": truth}, []
    with progress("demo", total=len(ensclust.methods()) + 3, quiet=quiet) as begin:
        begin("compiling, the first time only")
        small = ensclust.generate(X[:200], 4, random_state=0)
        for name, base_k in _DEMO_BASE.items():
            begin(name)
            start = time.perf_counter()
            ensemble = ensclust.generate(X, _DEMO_RUNS, base_k=base_k, random_state=0)
            seconds = (time.perf_counter() - start) / _DEMO_RUNS
            scores.append(_score(name, seconds, truth, ensemble.labels))
        for name in ensclust.methods():
            begin(name)
            try:
                ensclust.consensus(small, 4, name, random_state=0)
            except ImportError as error:
                warnings.warn(f"{name} is left out: {error}", stacklevel=2)
                continue
            start = time.perf_counter()
            labels[name] = ensclust.consensus(ensemble, _DEMO_K, name, random_state=0)
            seconds = time.perf_counter() - start
            scores.append(_score(name, seconds, truth, labels[name][:, None]))
    return labels, scores


def _score(name: str, seconds: float, truth: np.ndarray, labels: np.ndarray) -> dict:
    from ensclust.metrics import ari, nmi

    return {
        "name": name,
        "nmi": sum(nmi(truth, column) for column in labels.T) / labels.shape[1],
        "ari": sum(ari(truth, column) for column in labels.T) / labels.shape[1],
        "seconds": round(seconds, 4),
    }


def _print_table(
    columns: list[str], rows: list[list[str]], *, numbers: int = 0, rule_after: int = 0
) -> None:
    """Print a table whose last columns are numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        justify: Any = "right" if i >= len(columns) - numbers else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for i, row in enumerate(rows):
        table.add_row(*row, end_section=i + 1 == rule_after)
    # Where nobody watches (a pipe, a log), a line may be as long as it needs.
    Console(width=None if sys.stdout.isatty() else 200, highlight=False).print(table)


def _say(kind: str, message: Any) -> None:
    text = re.sub(r"\s*\n\s*", " ", str(message).strip())
    click.echo(f"ensclust: {kind}: {text}", err=True)
