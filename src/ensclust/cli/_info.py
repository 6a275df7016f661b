"""The command ``info``: what a file of labels or features holds, what to do with it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import ensclust
from ensclust.cli._options import json_option, table_options
from ensclust.cli._run import read_table

# What is heavy is imported when a command runs, so that --help answers at once.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust._ensemble.ensemble import Ensemble
    from ensclust.io import Table

_CONTENT = "How to read FILE; by default as labels if every cell can be one."
_SHOWN = 20  # columns in a text
_RATIO = 10.0  # of the scales of two columns, above which one drowns the other


@click.command(short_help="Say what a file holds.")
@click.argument("file", type=click.Path())
@click.option("--as", "content", type=click.Choice(["labels", "features"]),
              help=_CONTENT)  # fmt: skip
@table_options
@json_option
def info(file: str, content: str | None, *, as_json: bool, **choice) -> None:
    """Say what FILE holds: objects, columns, clusters, missing labels, distinct rows.

    FILE is as in consensus or cluster. Suggestions say what may be wrong with it and
    which command to run.
    """
    facts = read_table(describe, file, quiet=as_json, content=content, **choice)
    click.echo(json.dumps(facts) if as_json else as_text(facts))


def describe(
    path: str | os.PathLike, *, content: str | None = None, **choice: Any
) -> dict[str, Any]:
    """Return what a file holds as plain values, with suggestions in words.

    Parameters
    ----------
    path : str or path
        A file that :func:`ensclust.io.read_labels` or ``read_features`` reads.
    content : "labels", "features" or None
        How to read it; by default as labels if every cell can be one. An h5ad file
        without ``columns`` is only looked at.
    **choice
        ``columns``, ``id_column`` and ``header``, as those functions take them.

    Returns
    -------
    dict
        Its "content" is "labels", "features" or "anndata". Time and memory are those of
        reading the table, and for labels of finding the distinct rows: a sort of N.
    """
    is_h5ad = Path(path).suffix.lower() == ".h5ad"
    if is_h5ad and Path(path).exists() and not choice.get("columns") and not content:
        return _of_anndata(path)
    call = _arguments(path, choice)
    if content == "features":
        return _of_features(path, ensclust.io.read_features(path, **choice), call)
    try:
        return _of_labels(path, ensclust.io.read_labels(path, **choice), call)
    except ValueError:
        if content == "labels" or os.fspath(path) == "-":
            raise
    return _of_features(path, ensclust.io.read_features(path, **choice), call)


def as_text(facts: dict[str, Any]) -> str:
    """Return the facts for people."""
    if facts["content"] == "labels":
        size = (
            f"{facts['n_clusterings']} clusterings, "
            f"{facts['n_base_clusters']:,} base clusters"
        )
        lines = [
            f"  distinct label rows  {facts['n_distinct_rows']:,}",
            f"  missing labels       {facts['n_missing']:,}",
            f"  in no clustering     {facts['n_absent']:,}",
            *_listed(facts["columns"], "name", "n_clusters", "largest", "n_missing"),
        ]
    elif facts["content"] == "features":
        size = f"{facts['n_features']:,} features"
        lines = _listed(facts["columns"], "name", "min", "mean", "max", "sd")
    else:
        size = f"{facts['n_genes']:,} genes"
        lines = [
            *_listed(facts["obs"], "name", "kind", "n_values", "n_missing"),
            *(
                f"  obsm {n}: {' x '.join(map(str, s))}"
                for n, s in facts["obsm"].items()
            ),
        ]
    head = f"{facts['file']}: {facts['n_objects']:,} objects, {size}"
    return "\n".join([head, *lines, *(f"  * {text}" for text in facts["suggestions"])])


def _arguments(path: str | os.PathLike, choice: dict[str, Any]) -> str:
    """Return what to write on a command line that reads the same table."""
    words = [os.fspath(path), "-k", "K"]
    if columns := choice.get("columns"):
        words += ["--columns", ",".join(columns)]
    if id_column := choice.get("id_column"):
        words += ["--id-column", id_column]
    return shlex.join(words)


def _of_labels(path: str | os.PathLike, table: Table, call: str) -> dict[str, Any]:
    ensemble = ensclust.Ensemble(table.values)
    n_missing = (ensemble.columns == ensemble.missing).sum(axis=1)
    spans = zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True)
    columns = [
        {
            "name": name,
            "n_clusters": int(stop - start),
            "largest": int(ensemble.sizes[start:stop].max(initial=0)),
            "n_missing": int(missing),
        }
        for name, (start, stop), missing in zip(
            table.columns, spans, n_missing, strict=True
        )
    ]
    facts = {
        "file": str(path),
        "content": "labels",
        "n_objects": ensemble.n_objects,
        "n_clusterings": ensemble.n_clusterings,
        "n_base_clusters": ensemble.n_base_clusters,
        "n_distinct_rows": len(ensemble.fragments().counts),
        "n_missing": int(n_missing.sum()),
        "n_absent": int(ensemble.absent().sum()),
        "has_ids": table.ids is not None,
        "columns": columns,
    }
    return {
        **facts,
        "suggestions": [
            *_about_labels(facts, ensemble),
            f"ensclust consensus {call}",
        ],
    }


def _about_labels(facts: dict[str, Any], ensemble: Ensemble) -> list[str]:
    import numpy as np

    from ensclust._support.validation import gibibytes
    from ensclust._trees.coassociation import DEFAULT_MEMORY

    names = [column["name"] for column in facts["columns"]]
    single = [c["name"] for c in facts["columns"] if c["n_clusters"] < 2]
    matrix = 4 * facts["n_distinct_rows"] ** 2
    hints = [
        (single, f"Without any split, so without effect: {_names(single)}."),
        *(
            (group, f"The same clustering, which counts again: {_names(group)}.")
            for group in _equal_columns(ensemble, names)
        ),
        (
            np.median(ensemble.cluster_counts) > np.sqrt(ensemble.n_objects) + 1,
            "Many values a column. If they are features: ensclust cluster.",
        ),
        (
            facts["n_absent"],
            f"{facts['n_absent']:,} objects will have the consensus label -1.",
        ),
        (
            matrix > DEFAULT_MEMORY,
            f"A matrix of the distinct rows would take {gibibytes(matrix)}: methods of "
            "the object level work without it, slowly. Begin with -m ecpcs-mc.",
        ),
    ]
    return [hint for applies, hint in hints if applies]


def _equal_columns(ensemble: Ensemble, names: Sequence[str]) -> list[list[str]]:
    """Return the groups of clusterings that differ by the names of clusters only."""
    import numpy as np

    from ensclust._support.digests import digest
    from ensclust._support.encoding import first_places, ranks

    groups: dict[str, list[str]] = {}
    for name, column, k in zip(
        names, ensemble.columns, ensemble.cluster_counts.tolist(), strict=True
    ):
        place = np.minimum(column, k)  # the last is that of missing labels
        rank = np.append(ranks(first_places(place, k + 1)[:k])[0], np.int32(-1))
        groups.setdefault(digest(rank[place]), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _of_features(path: str | os.PathLike, table: Table, call: str) -> dict[str, Any]:
    X = table.values
    columns: list[dict[str, Any]] = [
        {
            "name": name,
            "min": float(column.min()),
            "mean": float(column.mean()),
            "max": float(column.max()),
            "sd": float(column.std()),
        }
        for name, column in zip(table.columns, X.T, strict=True)
    ]
    constant = [c["name"] for c in columns if c["min"] == c["max"]]
    scales = [c["sd"] for c in columns if c["min"] < c["max"]] or [1.0]
    ratio = max(scales) / min(scales)
    hints = [
        (constant, f"Constant, so without effect: {_names(constant)}."),
        (
            ratio > _RATIO,
            f"Standard deviations differ by a factor of {ratio:.3g}: large columns "
            "decide alone. --standardize makes all count alike.",
        ),
    ]
    return {
        "file": str(path),
        "content": "features",
        "n_objects": X.shape[0],
        "n_features": X.shape[1],
        "has_ids": table.ids is not None,
        "columns": columns,
        "suggestions": [
            *(hint for applies, hint in hints if applies),
            f"ensclust cluster {call}",
        ],
    }


def _of_anndata(path: str | os.PathLike) -> dict[str, Any]:
    from ensclust._files import h5ad

    facts = h5ad.contents(Path(path))
    reasons: dict[str | None, list[str]] = {}
    for column in facts["obs"]:
        reasons.setdefault(column["left_out"], []).append(column["name"])
    likely = reasons.pop(None, [])
    hints = [f"Left out, {why}: {_names(own)}." for why, own in reasons.items()]
    if len(likely) < 2:
        count = f"Only {likely[0]}" if likely else "No column of obs"
        hints.append(
            f"{count} looks like a clustering. Name others that are one, or make some: "
            "ensclust.scverse.consensus(adata, resolutions=[0.5, 1, 2], seeds=5)."
        )
        likely = [*likely, *["A", "B"][len(likely) :]]
    embeddings = [x for x in facts["obsm"] if not x.endswith("_memberships")]
    found = [
        *hints,
        f"ensclust consensus {_arguments(path, {'columns': likely})}",
        *(
            f"ensclust cluster {_arguments(path, {'columns': [name]})}"
            for name in sorted(embeddings, key=lambda x: x != "X_pca")[:1]
        ),
    ]
    return {"file": str(path), "content": "anndata", **facts, "suggestions": found}


def _listed(rows: list[dict[str, Any]], *keys: str) -> list[str]:
    """Return some of the rows as lines of a table."""
    cells = [
        [key.replace("n_", "").replace("_", " ") for key in keys],
        *([_cell(row[key]) for key in keys] for row in rows[:_SHOWN]),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        f"  {row[0]:{widths[0]}}"
        + "".join(f"  {c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))
        for row in cells
    ]
    more = len(rows) - _SHOWN
    return [*lines, f"  ... and {more:,} more"] if more > 0 else lines


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
