"""The commands ``cluster`` and ``consensus``: one run, from options to output.

Engines differ in how rows are read and written. The meaning of the options, the run of
the method and the summary are the same for all of them.
"""

from __future__ import annotations

import json
import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import signature
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import ensclust
from ensclust._kernels._compiling import stopwatch
from ensclust._support.progress import progress
from ensclust.cli._engines import dask_scheduler
from ensclust.cli._messages import in_lines, in_options
from ensclust.cli._options import (
    IntegerRange,
    NumberRange,
    base,
    base_k,
    check_page,
    cleaning_options,
    effort,
    engine_options,
    in_words,
    no_k,
    noise_option,
    once,
    output_option,
    overwrite_option,
    page_options,
    report_option,
    run_options,
    several_k,
    share,
)
from ensclust.cli._tables import read_sweep, read_table

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._methods.driver import Solved
    from ensclust.io import Table

_SHOWN = 12  # cluster sizes, or names, in a summary
_k_option = click.option(
    "-k",
    "--n-clusters",
    type=several_k,
    metavar="K[,K...]",
    help="Number of consensus clusters, or auto to choose it automatically; some "
    "methods also accept a word such as lifetime. A list, such as 2,3,4, writes one "
    "column per number. Required, except for methods such as communities that find "
    "the number themselves.",
)

_certainty_option = click.option(
    "--min-certainty",
    type=NumberRange(0, 1),
    metavar="SHARE",
    help="Give the label -1 to objects whose share in their own cluster is below "
    "SHARE, from 0 to 1.",
)


@click.command(short_help="Cluster a table of numbers.")
@click.argument("data", type=click.Path())
@_k_option
@click.option("--n-clusterings", type=IntegerRange(1), default=20, show_default=True,
              metavar="M", help="Number of base clusterings.")  # fmt: skip
@click.option("--base", type=base, default="kmeans", show_default=True,
              metavar="KIND[,KIND]",
              help="How to generate the base clusterings: kmeans, spectral (finds "
              "clusters of any shape), or kmeans,spectral to alternate."
              )  # fmt: skip
@click.option("--base-k", type=base_k, metavar="LO,HI",
              show_default="from the smallest K to the square root of the number of "
              "objects, at most 100",
              help="Clusters per base clustering: drawn from LO to HI, or one number."
              )  # fmt: skip
@click.option("--effort", type=effort, default="auto", show_default=True,
              metavar="PASSES",
              help="Passes of k-means over all objects if there are more than 20,000: "
              "auto, full or a number.")  # fmt: skip
@click.option("--scale", type=click.Choice(["auto", "none", "standard", "robust"]),
              default="auto", show_default=True,
              help="Scale the columns first: standard (mean 0, standard deviation 1), "
              "robust (median 0, interquartile range 1), none, or auto, which is "
              "standard if a few columns would dominate, else none.")  # fmt: skip
@click.option("--standardize", is_flag=True,
              help="Same as --scale standard.")  # fmt: skip
@cleaning_options
@_certainty_option
@output_option
@overwrite_option
@report_option
@page_options
@click.option("--model", type=click.Path(), metavar="FILE",
              help="Also save the fitted model, for ensclust predict. FILE must end "
              "in .skops."
              )  # fmt: skip
@run_options("ecpcs-mc")
@engine_options
def cluster(data, n_clusters, *, standardize, **options) -> None:
    """Cluster the rows of DATA: many k-means runs, then their consensus.

    DATA is a CSV, TSV, NPY, NPZ, Parquet, h5ad or MATLAB file of numbers with one row
    per object, or - for CSV on stdin. Compressed CSV (.csv.gz, .csv.zst) works too. For
    h5ad, X is used, or an entry of obsm such as X_pca with --columns; -o copy.h5ad
    writes the labels into a copy.
    """
    if standardize:
        source = click.get_current_context().get_parameter_source("scale")
        if source != ParameterSource.DEFAULT and options["scale"] != "standard":
            msg = (
                f"--standardize and --scale {options['scale']} differ. Use one of them."
            )
            raise click.UsageError(msg)
        options["scale"] = "standard"
    Run("features", data, n_clusters or [None], **options).run()


@click.command(short_help="Combine existing clusterings.")
@click.argument("labels", type=click.Path())
@_k_option
@noise_option
@_certainty_option
@click.option("--distinct", type=share, metavar="NMI", is_flag=False, flag_value="0.95",
              help="Keep one of each group of clusterings whose NMI is at least this, "
              "by default 0.95; info lists the groups.")  # fmt: skip
@output_option
@overwrite_option
@report_option
@page_options
@run_options("ecpcs-mc")
@engine_options
def consensus(labels, n_clusters, **options) -> None:
    """Combine the columns of LABELS, one base clustering each, into one clustering.

    LABELS is a CSV, TSV, NPY, NPZ, Parquet, h5ad or MATLAB file with one row per
    object, or - for CSV on stdin. Compressed CSV (.csv.gz, .csv.zst) works too. Labels
    are integers or text; an empty cell, NA or a negative number means "not clustered".
    For h5ad, --columns names the clusterings in obs, and -o copy.h5ad writes the labels
    into a copy. For MATLAB, --columns names the matrix if there are several.
    """
    Run("labels", labels, n_clusters or [None], **options).run()


@dataclass(frozen=True)
class Run:
    """The options of a command that runs a method on a file of labels or features."""

    content: str
    source: str
    ks: list[int | str | None]
    method: str
    param: tuple[tuple[str, Any], ...]
    seed: int
    n_jobs: int | None
    columns: list[str] | None
    exclude: list[str] | None
    id_column: str | None
    header: bool | None
    as_json: bool
    quiet: bool
    noise: str = "missing"
    min_certainty: float | None = None
    distinct: float | None = None
    n_clusterings: int = 20
    base: str | list[str] = "kmeans"
    base_k: int | tuple[int, ...] | None = None
    effort: int | str = "auto"
    scale: str = "auto"
    numeric_only: bool = False
    categorical: str = "refuse"
    missing: str = "refuse"
    output: str = "-"
    overwrite: bool = False
    report: str | None = None
    map_of: str | None = None
    sweep: str | None = None
    sweep_columns: list[str] | None = None
    model: str | None = None
    engine: str = "memory"
    scheduler: str | None = None
    checkpoint: str | None = None

    @property
    def is_silent(self) -> bool:
        """Whether only data, warnings and errors are wanted."""
        return self.quiet or self.as_json

    @property
    def in_memory(self) -> bool:
        """Whether the file is read as a whole."""
        return self.engine == "memory"

    @property
    def _has_features(self) -> bool:
        """Whether a report can show the features of all objects."""
        return self.in_memory and self.content == "features"

    def run(self) -> None:
        """Run the method, write the labels and print the summary."""
        from ensclust._methods.table import make, settle

        self._refuse()
        settings: dict[str, Any] = {"base": "precomputed", "noise": self.noise}
        if self.content == "features":
            settings = {
                name: getattr(self, name)
                for name in ("n_clusterings", "base", "base_k", "effort")
            }
            settings["scale"] = None if self.scale == "none" else self.scale
        # Labels alone are combined without an estimator, so without scikit-learn.
        is_fitted = self.content == "features" or self.report is not None
        settings |= {"n_clusters": self.ks[0], **self.settings()}
        build = make if is_fitted else settle
        model: Any = build(self.method, **settings)
        model._validate_params()
        is_dask = self.engine == "dask"
        with dask_scheduler(self.scheduler) if is_dask else nullcontext():
            X, about, doing = self._open() if self.in_memory else self._open_blocks()
            columns, kept = about.pop("columns", None), about.pop("kept", None)
            if kept is not None and isinstance(settings.get("weights"), list):
                settings["weights"] = _kept_weights(settings["weights"], kept)
                model = build(self.method, **settings)
            names = [f"k{k}" for k in self.ks] if len(self.ks) > 1 else None
            clock = stopwatch()
            with progress(doing, quiet=self.is_silent):
                rows, joined = X, about.pop("joined", None)
                if joined is not None:
                    model, rows = _join(model, X, self.ks, joined)
                solve = model._fit_cuts if is_fitted else model._combine
                solved = solve(rows, self.ks, checkpoint=self.checkpoint)
                labels = solved.labels(names)
                sizes = _sizes(labels) if self.in_memory else labels.write(self.output)
            seconds = clock()
            if self.in_memory and not (self.as_json and self.output == "-"):
                self._write(solved, labels, names, about)
            if self.model:
                ensclust.io.save_model(model, self.model, columns=columns)
            counts = [own.tolist() for own in sizes]
            if self._writes_h5ad():  # which numbers clusters by size
                counts = [sorted(own, reverse=True) for own in counts]
            self._tell(solved, labels, counts, seconds, about)
            if self.report:
                more = {"X": X} if self._has_features else {}
                self._show(self.report, model, about | more)

    def settings(self) -> dict[str, Any]:
        """Return the parameters of the method, or raise for unknown ones."""
        from ensclust._methods.base import Method
        from ensclust._methods.table import find

        kind = find(self.method)
        shared = signature(Method).parameters
        own = sorted(signature(kind).parameters.keys() - shared.keys())
        for name, _ in self.param:
            if name not in own:
                msg = (
                    f"{self.method} has no parameter {name!r} for -p. Its parameters "
                    f"are {', '.join(map(repr, own)) or 'none'}."
                )
                raise click.UsageError(msg)
        for k in self.ks:
            if isinstance(k, str) and k not in kind._k_words:
                raise self._unknown(k, kind._k_words)
            if k is None and not kind.info.free_k:
                raise self._no_k()
        given = self.param
        if self.checkpoint and "checkpoint" in own:
            given = once((*given, ("checkpoint", self.checkpoint)))
        elif self.checkpoint and (self.in_memory or self.content == "features"):
            raise self._nothing_kept()
        if self.min_certainty is not None:
            given = (*given, ("min_certainty", self.min_certainty))
        return {"random_state": self.seed, "n_jobs": self.n_jobs, **dict(given)}

    def _keys(self) -> list[str]:
        """Return the names of the results in an h5ad file."""
        several = len(self.ks) > 1
        return [f"consensus_k{k}" for k in self.ks] if several else ["consensus"]

    def _writes_h5ad(self) -> bool:
        return Path(self.output).suffix.lower() == ".h5ad"

    def _write(self, solved: Solved, labels, names, about: dict[str, Any]) -> None:
        """Write the labels; for h5ad, everything that scverse.consensus writes."""
        from ensclust._methods.anndata_entries import write_copy

        if self._writes_h5ad():
            names_of = ("n_clusterings", "base", "base_k")
            made = {name: getattr(self, name) for name in names_of}
            write_copy(
                self.output,
                self.source,
                solved,
                keys=dict(zip(self._keys(), self.ks, strict=True)),
                names=about.get("names"),
                settings={
                    "method": self.method,
                    "random_state": self.seed,
                    **({"noise": self.noise} if self.content == "labels" else made),
                    "min_certainty": self.min_certainty,
                    **({"distinct": self.distinct} if self.distinct else {}),
                    **dict(self.param),
                },
            )
            return
        ensclust.io.write_labels(
            self.output, labels, names=names or ["cluster"], ids=about["ids"]
        )

    def _refuse(self) -> None:
        """Reject incompatible options before anything is read."""
        for is_wrong, msg in (
            (self.scheduler and self.engine != "dask",
             "--scheduler needs --engine dask."),
            (self.header is not None and not self.in_memory,
             "--header and --no-header are for text files, which need --engine "
             "memory."),
            (self.report and len(self.ks) > 1,
             f"--report shows one clustering; -k asks for {len(self.ks)}. Use one k."),
            ((self.map_of or self.sweep or self.sweep_columns) and not self.report,
             "--map-of and --sweep are for the report. Add --report FILE."),
            (self.sweep and not self.in_memory, "--sweep needs --engine memory."),
            (self.model and len(self.ks) > 1,
             f"--model keeps one clustering; -k asks for {len(self.ks)}. Use one k."),
            (self.model and not self.in_memory, "--model needs --engine memory."),
            (self.model and (self.missing == "impute" or self.categorical == "join"),
             "--model does not save what --missing impute and --categorical join do, "
             "so new objects could not be labelled. Leave out either them or --model."),
            (not self.in_memory and (self.exclude or self.numeric_only
             or {self.categorical, self.missing} != {"refuse"}),
             "--exclude, --numeric-only, --categorical and --missing need --engine "
             "memory."),
            (self.distinct is not None and not self.in_memory,
             "--distinct needs --engine memory."),
            (self.distinct is not None
             and isinstance(dict(self.param).get("cluster_weights"), list),
             "-p cluster_weights with one number per base cluster does not fit the "
             "clusterings that --distinct keeps. Use -p cluster_weights=eci, or leave "
             "one of them out."),
            (self.missing == "drop" and self.output.lower().endswith(".h5ad"),
             "--missing drop leaves objects out, so the labels do not fit into a copy "
             "of the input. Write a CSV file."),
        ):  # fmt: skip
            if is_wrong:
                raise click.UsageError(msg)
        check_page(self.map_of, self.sweep, self.sweep_columns, self._has_features)
        if self.in_memory:
            ensclust.io.check_output(self.output, source=self.source)
            if self._writes_h5ad():
                from ensclust._methods.anndata_entries import check_free

                check_free(self.source, self._keys(), overwrite=self.overwrite)
        else:
            from ensclust._stream import label_stream

            label_stream.check_output(Path(self.output), Path(self.source))
        if self.model:
            from ensclust._files.models import check_model_path

            check_model_path(self.model)
        if self.report:
            from ensclust._view.report.page import check_report

            check_report(self.report)

    def _no_k(self) -> click.UsageError:
        """Return the error for a method that needs a number of clusters."""
        free = in_words(ensclust.methods(free_k=True))
        return click.UsageError(
            f"Missing option '-k' / '--n-clusters', which {self.method} requires. If "
            f"you do not know the number, use -k auto or -m {free}."
        )

    def _unknown(self, word: str, own: tuple[str, ...]) -> click.UsageError:
        """Return the error for a word that the method does not accept for k."""
        from ensclust._methods import METHODS

        having = [name for name, kind in METHODS.items() if word in kind._k_words]
        if not having:
            return no_k(word)
        return click.UsageError(
            f"-k {word} needs -m {in_words(having)}; {self.method} accepts "
            f"{in_words(['a number', *own])}."
        )

    def _nothing_kept(self) -> click.UsageError:
        """Return the error for a checkpoint with nothing to save."""
        from ensclust._methods.table import METHODS, has_parameter

        trees = [name for name in METHODS if has_parameter(name, "checkpoint")]
        blocks = "--engine blocks or dask, or " * (self.content == "labels")
        return click.UsageError(f"--checkpoint needs {blocks}-m {in_words(trees)}.")

    def _show(self, page: str, model: Any, about: dict[str, Any]) -> None:
        with progress("preparing the report", quiet=self.is_silent):
            result = model._result()  # for a stream, one more pass for a sample
        write_report(
            page,
            result.ensemble,
            result.labels,
            result=result,
            title="Standard input" if self.source == "-" else Path(self.source).name,
            quiet=self.is_silent,
            **about,
        )

    def read(self, reader: Callable, **more: Any) -> Any:
        """Read the requested columns into memory."""
        return read_table(
            reader,
            self.source,
            quiet=self.is_silent,
            columns=self.columns,
            exclude=self.exclude,
            id_column=self.id_column,
            header=self.header,
            **more,
        )

    def _open(self) -> tuple[Any, dict[str, Any], str]:
        """Return rows for fit, facts for the report, and a text for the progress."""
        if self.content == "features":
            table = self.read(
                ensclust.io.read_features,
                numeric_only=self.numeric_only,
                categorical=self.categorical,
                missing=self.missing,
            )
            doing = f"clustering {len(table.values):,} objects"
            about = {
                "ids": table.ids,
                "columns": self._to_keep(table.columns),
                "joined": table.categories,
                **self._page_of(table),
            }
            return table.values, about, doing
        table = self.read(ensclust.io.read_labels)
        labels, names = table.labels(self.noise), table.columns
        if self.distinct is not None:
            ensemble = ensclust.Ensemble(labels, noise=self.noise)
            kept = self._thin(ensemble.redundant(self.distinct), names)
            labels, names = labels[:, kept], tuple(compress(names, kept))
        n_objects, n_clusterings = labels.shape
        doing = f"consensus of {n_clusterings:,} clusterings of {n_objects:,} objects"
        about = {"ids": table.ids, "names": names, **self._page_of(table)}
        if self.distinct is not None:
            about["kept"] = kept
        return labels, about, doing

    def _page_of(self, table: Any) -> dict[str, Any]:
        """Return what the options of the report add to it."""
        found = read_sweep(self.sweep, self.sweep_columns, table, quiet=self.is_silent)
        return {**found, "map_of": self.map_of}

    def _thin(self, groups: dict[int, list[int]], names: Sequence[str]) -> list[bool]:
        """Return which clusterings are kept, and report the others."""
        dropped = sorted(m for group in groups.values() for m in group)
        if not self.is_silent:
            left_out = ", ".join(names[m] for m in dropped[:_SHOWN])
            if len(dropped) > _SHOWN:
                left_out += f" and {len(dropped) - _SHOWN:,} more"
            click.echo(
                f"{self.source}: {len(dropped)} of {len(names)} clusterings left out, "
                f"each similar to a kept one{': ' * bool(dropped)}{left_out}",
                err=True,
            )
        return [m not in dropped for m in range(len(names))]

    def _to_keep(self, used: tuple[str, ...]) -> Sequence[str]:
        """Return the columns that a model needs: those used, or their matrices."""
        asked = self.columns or used
        return used if set(used) <= set(asked) else asked

    def _open_blocks(self) -> tuple[Any, dict[str, Any], str]:
        """Return the same for rows that are read in blocks."""
        blocks = ensclust.Blocks(
            self.source,
            columns=self.columns,
            id_column=self.id_column,
            content=self.content,
            engine=self.engine,
        )
        names = blocks.names if self.content == "labels" else None
        about = {"names": names, "map_of": self.map_of}
        return blocks, about, f"{self.method} over {self.source}"

    def _tell(self, solved: Solved, labels, sizes: list, seconds: float, about) -> None:
        """Print the result, as JSON or as a summary."""
        fitted = solved.cuts[0].fitted if len(self.ks) == 1 else {}
        selected = fitted.get("selection_")
        if self.as_json:
            facts = self._facts(solved, labels, sizes)
            if self.distinct is not None:
                facts["clusterings"] = list(about["names"])
            if selected is not None:
                facts |= {"p": selected.p, "best_k_range": selected.best_k_range}
            if about.get("ids") is not None and self.output == "-":
                facts["objects"] = about["ids"]
            click.echo(json.dumps({**facts, "seconds": round(seconds, 3)}))
        elif not self.quiet:
            n = len(labels)
            lines = [
                f"{self.method}: {n:,} objects, {seconds:.2f} s, seed {self.seed}",
                *(
                    in_lines(self._summary(k, own, n, solved.counts.n_absent))
                    for k, own in zip(self.ks, sizes, strict=True)
                ),
                *([] if selected is None else [in_lines(in_options(selected.outcome))]),
                *[f"  labels written to {self.output}"] * (self.output != "-"),
                *[f"  model written to {self.model}"] * bool(self.model),
            ]
            click.echo("\n".join(lines), err=True)

    def _summary(self, k: Any, sizes: list, n: int, n_absent: int) -> str:
        """Return the sizes of clusters, and why objects are in none."""
        n_without = n - sum(sizes)
        n_left_out = n_without - n_absent
        text = ("" if k is None else f"k={k}: ") + in_sizes(sizes, n_without)
        if self.min_certainty is None or not n_left_out:
            return text
        which = f"{n_left_out:,} of them with a " if n_absent else ""
        return f"{text} ({which}certainty below {self.min_certainty:g})"

    def _facts(self, solved: Solved, labels: Any, sizes: list) -> dict[str, Any]:
        per_k: dict[str, list] = {
            "k": self.ks,
            "sizes": sizes,
            "n_clusters": [found.n_clusters for found in solved.cuts],
        }
        if self.output == "-":
            per_k |= {"labels": labels.reshape(len(labels), -1).T.tolist()}
        if self.min_certainty is not None:
            n_present = len(labels) - solved.counts.n_absent
            per_k["n_left_out"] = [n_present - sum(own) for own in sizes]
        return {
            "method": self.method,
            "seed": self.seed,
            "n_objects": len(labels),
            "output": None if self.output == "-" else self.output,
            **({} if self.in_memory else {"engine": self.engine}),
            **(
                per_k
                if len(self.ks) > 1
                else {name: values[0] for name, values in per_k.items()}
            ),
        }


def _kept_weights(weights: list, kept: list[bool]) -> list:
    """Return the weights of the clusterings that are kept, given one for each."""
    if len(weights) != len(kept):
        msg = (
            f"-p weights has {len(weights)} numbers for {len(kept)} clusterings. Give "
            f"one per clustering; those of the {sum(kept)} that --distinct keeps are "
            "used."
        )
        raise click.UsageError(msg)
    return list(compress(weights, kept))


def _join(model: Any, X: Any, ks: list, joined: Table) -> tuple[Any, Any]:
    """Return the model and label rows: generated clusterings and those of a table."""
    from sklearn.base import clone

    generator = model._generator(len(X), ks, model._seeds()[0])
    runs = generator.fit_checked(X).ensemble_
    every = [*runs.labels.T, *joined.values.T]
    rows = ensclust.Ensemble.from_clusterings(every, noise=model.noise)
    return clone(model).set_params(base="precomputed"), rows


def write_report(
    path: str, ensemble: Ensemble, labels: Any, *, quiet: bool, **more: Any
) -> None:
    """Write the report of a clustering, with the command that reproduces it."""
    from ensclust._view.report.facts import collect
    from ensclust._view.report.page import write_page

    context = click.get_current_context()
    typed = ["ensclust", *context.obj]
    if context.get_parameter_source("seed") == ParameterSource.DEFAULT:
        typed += ["--seed", str(context.params["seed"])]  # it was drawn at random
    with progress(f"writing the report of {len(labels):,} objects", quiet=quiet):
        write_page(path, collect(ensemble, labels, call=shlex.join(typed), **more))
    if not quiet:
        click.echo(f"report written to {path}", err=True)


def _sizes(labels: np.ndarray) -> list[np.ndarray]:
    """Return the size of every cluster, for each column of labels."""
    import numpy as np

    columns = labels.reshape(len(labels), -1).T
    return [np.bincount(column[column >= 0]) for column in columns]


def in_sizes(sizes: list[int], n_absent: int) -> str:
    """Return the number of clusters and the sizes of the largest ones."""
    largest = [f"{size:,}" for size in sorted(sizes, reverse=True)]
    if len(largest) > _SHOWN:
        largest = [*largest[: _SHOWN - 1], "...", largest[-1]]
    return (
        f"{len(sizes)} cluster{'s' * (len(sizes) != 1)}"
        + (f" of size{'s' * (len(sizes) != 1)} {', '.join(largest)}" if sizes else "")
        + (f"; {n_absent:,} not clustered" if n_absent else "")
    )
