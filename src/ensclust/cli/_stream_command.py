"""Commands over data that is not read as a whole: --engine and what goes with it."""

from __future__ import annotations

import json
import logging
import signal
import time
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ensclust._support.progress import progress

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENGINE = (
    "memory reads the file as a whole; blocks passes over it block by block; dask does "
    "so with many workers. The last two take .npy, .parquet, .h5ad, .zarr and "
    "directories of Parquet files, and write .npy, .parquet and .zarr."
)
_SCHEDULER = "For --engine dask: threads, processes, or the address of a scheduler."
_CHECKPOINT = "Directory for counts, from which an interrupted run goes on."


def takes_streams(content: str) -> Callable[[Callable], Callable]:
    """Return a decorator: a command that can also pass over its input in blocks.

    ``content`` is what the input holds, "labels" or "features".
    """

    def decorate(command: Callable) -> Callable:
        @wraps(command)
        def run(engine, scheduler, checkpoint=None, **options) -> None:
            for name, value, needed in (
                ("--scheduler", scheduler, ("dask",)),
                ("--checkpoint", checkpoint, ("blocks", "dask")),
            ):
                if value is not None and engine not in needed:
                    msg = f"{name} needs --engine {' or '.join(needed)}."
                    raise click.UsageError(msg)
            if engine == "memory":
                command(**options)
                return
            if options.get("report"):
                msg = f"--report needs --engine memory, not {engine}."
                raise click.UsageError(msg)
            with _scheduler(engine, scheduler):
                _run(content, engine, checkpoint, **options)

        if content == "labels":
            run = click.option("--checkpoint", type=click.Path(), metavar="DIR",
                               help=_CHECKPOINT)(run)  # fmt: skip
        for option in (
            click.option("--scheduler", metavar="ADDRESS", help=_SCHEDULER),
            click.option("--engine", type=click.Choice(["memory", "blocks", "dask"]),
                         default="memory", show_default=True, help=_ENGINE),
        ):  # fmt: skip
            run = option(run)
        return run

    return decorate


@contextmanager
def _scheduler(engine: str, address: str | None) -> Iterator[None]:
    """Make the scheduler that is asked for the active one."""
    if engine != "dask":
        yield
        return
    from ensclust._support.validation import import_optional

    dask = import_optional("dask", "--engine dask", "dask")
    distributed = import_optional("distributed", "--engine dask", "dask")
    if address in (None, "threads"):
        with dask.config.set(scheduler="threads"):
            yield
    elif address == "processes":
        with _processes(distributed) as cluster, distributed.Client(cluster):
            yield
    elif "://" in str(address):
        with distributed.Client(address):
            yield
    else:
        msg = f"--scheduler {address} is not known. Use threads, processes or tcp://..."
        raise click.UsageError(msg)


@contextmanager
def _processes(distributed: Any) -> Iterator[Any]:
    """Start workers, which leave Ctrl-C and the telling of errors to this process."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes inherit it
    try:
        cluster = distributed.LocalCluster(silence_logs=logging.CRITICAL)
    finally:
        signal.signal(signal.SIGINT, before)
    with cluster:
        yield cluster


def _run(content: str, engine: str, checkpoint: str | None, **options: Any) -> None:
    """Do what the command does, block by block."""
    from ensclust._methods import make
    from ensclust._stream import distributed
    from ensclust._stream.blocks import Blocks
    from ensclust._stream.label_streams import check_output

    path = options["data" if content == "features" else "labels"]
    if options["header"] is not None:
        msg = "--header and --no-header are for text files, which need --engine memory."
        raise click.UsageError(msg)
    output = Path(options["output"])
    check_output(output, Path(path))
    given = options["n_clusters"]
    ks = given if isinstance(given, list) else [given]
    settings = {"random_state": options["seed"], "n_jobs": options["n_jobs"]}
    settings |= dict(options["param"])
    choice = {"columns": options["columns"], "id_column": options["id_column"]}
    if content == "labels":
        settings |= {"base": "precomputed", "noise": options["noise"]}
    else:
        if options["standardize"]:
            msg = "--standardize needs --engine memory."
            raise click.UsageError(msg)
        settings |= {n: options[n] for n in ("n_clusterings", "base_k", "n_clusters")}
    model = make(options["method"], **settings)
    blocks = Blocks(path, content=content, engine=engine, **choice)
    quiet = options["quiet"] or options["as_json"]
    start = time.perf_counter()
    with progress(f"{options['method']} over {path}", quiet=quiet):
        if content == "labels":
            several = len(ks) > 1
            stream = distributed.consensus(
                blocks, ks, model, checkpoint, several=several
            )
        else:
            stream = model.fit(blocks).labels_
        sizes = stream.write(output)
    facts = {"method": options["method"], "seed": options["seed"]}
    facts |= {"n_objects": len(stream), "output": str(output), "engine": engine}
    per_k = {"k": ks, "sizes": [counts.tolist() for counts in sizes]}
    per_k["n_clusters"] = stream.n_clusters
    facts |= {n: v[0] for n, v in per_k.items()} if len(ks) == 1 else per_k
    facts["seconds"] = round(time.perf_counter() - start, 3)
    if options["as_json"]:
        click.echo(json.dumps(facts))
    elif not options["quiet"]:
        _tell(facts, per_k)


def _tell(facts: dict[str, Any], per_k: dict[str, list]) -> None:
    size = "{n_objects:,} objects, {seconds:.2f} s, seed {seed}".format(**facts)
    click.echo(f"{facts['method']}: {size}", err=True)
    for k, n in zip(per_k["k"], per_k["n_clusters"], strict=True):
        click.echo(f"  k={k}: {n} clusters", err=True)
    click.echo(f"  labels written to {facts['output']}", err=True)
