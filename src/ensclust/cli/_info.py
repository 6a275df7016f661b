"""The command ``info``: what a file holds, and what to do with it."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import ensclust
from ensclust.cli._messages import in_lines
from ensclust.cli._options import json_option, table_options, to_stdout
from ensclust.cli._tables import read_table

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust._ensemble.ensemble import Ensemble

_CONTENT = (
    "How to read FILE. By default as labels if every cell can be a label, as features "
    "if every cell is a number, else as a mixed table."
)
_SHOWN = 20  # columns in a text
_ALIKE = 0.95  # NMI of nearly equal clusterings, as in Ensemble.redundant


@click.command(short_help="Show what a file contains.")
@click.argument("file", type=click.Path())
@click.option("--as", "content", type=click.Choice(["labels", "features", "table"]),
              help=_CONTENT)  # fmt: skip
@table_options
@json_option
@to_stdout
def info(file: str, content: str | None, *, as_json: bool, **choice) -> None:
    """Show what FILE contains: objects, columns, clusters, missing and distinct labels.

    FILE has a format that ensclust consensus or cluster reads. For a mixed table, each
    column is listed with its type, missing cells, distinct values and possible use.
    Suggestions point out likely problems and the command to run next.
    """
    facts = read_table(describe, file, quiet=as_json, content=content, **choice)
    click.echo(json.dumps(facts) if as_json else as_text(facts))


def describe(
    path: str | os.PathLike, *, content: str | None = None, **choice: Any
) -> dict[str, Any]:
    """Return what a file contains as plain values, with suggestions.

    Parameters
    ----------
    path : str or path
        A file that :func:`ensclust.io.read_labels` or ``read_features`` reads.
    content : "labels", "features", "table" or None
        How to read it; by default as labels if every cell can be one, as features if
        every cell is a number, else as a mixed table. For an h5ad file without
        ``columns``, only its structure is read.
    **choice
        ``columns``, ``exclude``, ``id_column`` and ``header``, passed to those
        functions.

    Returns
    -------
    dict
        Its "content" is "labels", "features", "table" or "anndata". Time and memory are
        those of reading the table twice; for labels, also of sorting the N rows and
        comparing the M columns, N M^2 / 2.
    """
    is_h5ad = Path(path).suffix.lower() == ".h5ad"
    if is_h5ad and Path(path).exists() and not choice.get("columns") and not content:
        return _of_anndata(path)
    call = _arguments(path, choice)
    read = {"labels": _of_labels, "features": _of_features, "table": _of_table}
    if content:
        return read[content](path, call, choice)
    if os.fspath(path) == "-":  # cannot be read twice
        return _of_labels(path, call, choice)
    table = None if is_h5ad else _of_table(path, call, choice)
    if table is None or _may_be_labels(table):
        with suppress(ValueError, TypeError):
            return _of_labels(path, call, choice)
    try:
        return _of_features(path, call, choice)
    except (ValueError, TypeError):
        if table is None:
            raise
        return table


def as_text(facts: dict[str, Any]) -> str:
    """Return the facts as text."""
    from ensclust._support.plain import counted

    if facts["content"] == "labels":
        size = (
            f"{counted(facts['n_clusterings'], 'clustering')}, "
            f"{counted(facts['n_base_clusters'], 'base cluster')}"
        )
        lines = [
            f"  distinct label rows  {facts['n_distinct_rows']:,}",
            f"  missing labels       {facts['n_missing']:,}",
            f"  in no clustering     {facts['n_absent']:,}",
            *_listed(facts["columns"], "name", "n_clusters", "largest", "n_missing"),
        ]
    elif facts["content"] == "features":
        size = counted(facts["n_features"], "feature")
        lines = _listed(facts["columns"], "name", "min", "mean", "max", "sd")
    elif facts["content"] == "table":
        size = counted(len(facts["columns"]), "column")
        lines = _described(facts["columns"])
    else:
        size = counted(facts["n_genes"], "gene")
        lines = [
            *_listed(facts["obs"], "name", "kind", "n_values", "n_missing"),
            *(
                f"  obsm {n}: {' x '.join(map(str, s))}"
                for n, s in facts["obsm"].items()
            ),
        ]
    head = f"{facts['file']}: {counted(facts['n_objects'], 'object')}, {size}"
    return "\n".join([head, *lines, *map(_suggestion, facts["suggestions"])])


def _suggestion(text: str) -> str:
    """Return a suggestion in lines of 80 characters; a command stays in one."""
    start = "  * "
    return start + text if text.startswith("ensclust ") else in_lines(text, start)


def _arguments(path: str | os.PathLike, choice: dict[str, Any]) -> str:
    """Return the arguments of a command that reads the same table."""
    words = [os.fspath(path), "-k", "K"]
    if columns := choice.get("columns"):
        words += ["--columns", ",".join(columns)]
    if exclude := choice.get("exclude"):
        words += ["--exclude", ",".join(exclude)]
    if id_column := choice.get("id_column"):
        words += ["--id-column", id_column]
    return shlex.join(words)


def _many(n_objects: int) -> float:
    """Return the number of values above which a column is hardly a clustering."""
    return n_objects**0.5 + 1


def _may_be_labels(facts: dict[str, Any]) -> bool:
    """Whether all numbers are whole, and no column mixes many of them with text."""
    columns = [column for column in facts["columns"] if column["role"] != "id"]
    types = {column["type"] for column in columns}
    is_many = any(
        column["type"] == "integer" and column["n_values"] > _many(facts["n_objects"])
        for column in columns
    )
    return "number" not in types and not (is_many and "text" in types)


def _of_table(path: str | os.PathLike, call: str, choice: dict) -> dict[str, Any]:
    from ensclust._files.profile import profile

    facts = profile(path, **choice)
    roles: dict[str, list[str]] = {}
    for column in facts["columns"]:
        roles.setdefault(column["role"], []).append(column["name"])
    features = [*roles.get("feature", []), *roles.get("label or feature", [])]
    labels = [*roles.get("label", []), *roles.get("label or feature", [])]
    texts = [c for c in facts["columns"] if c["type"] in ("text", "mixed")]
    gaps = [c for c in facts["columns"] if c["name"] in features and c["n_missing"]]
    more = " --numeric-only" * any(c["role"] != "id" for c in texts)
    more += " --missing impute" * bool(gaps or roles.get("empty"))
    may_join, constant = features and roles.get("label"), roles.get("constant", [])
    hints = [
        *((note, note) for note in facts.pop("notes")),
        (constant, f"Constant, no effect: {_names(constant)}."),
        (features, f"ensclust cluster {call}{more}"),
        (may_join, "To use text columns as base clusterings: --categorical join."),
        (may_join, "To leave out columns, such as the true classes: --exclude A,B."),
        (not features and len(labels) > 1,
         f"ensclust consensus {_arguments(path, {**choice, 'columns': labels})}"),
    ]  # fmt: skip
    suggestions = [hint for applies, hint in hints if applies]
    return {"file": str(path), "content": "table", **facts, "suggestions": suggestions}


def _of_labels(path: str | os.PathLike, call: str, choice: dict) -> dict[str, Any]:
    table = ensclust.io.read_labels(path, **choice)
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
            *table.notes,
            *_about_labels(facts, ensemble),
            f"ensclust consensus {call}",
        ],
    }


def _about_labels(facts: dict[str, Any], ensemble: Ensemble) -> list[str]:
    import numpy as np

    from ensclust._support.plain import counted
    from ensclust._support.validation import gibibytes
    from ensclust._trees.coassociation import DEFAULT_MEMORY

    names = [column["name"] for column in facts["columns"]]
    equal = _equal_columns(ensemble, names)
    alike = _nearly_equal(ensemble, names, equal)
    single = [c["name"] for c in facts["columns"] if c["n_clusters"] < 2]
    matrix = 4 * facts["n_distinct_rows"] ** 2
    hints = [
        (single, f"Only one cluster, no effect: {_names(single)}."),
        *(
            (group, f"Identical clusterings, counted separately: {_names(group)}.")
            for group in equal
        ),
        *(
            (
                group,
                f"{len(group)} of {len(names)} clusterings are nearly identical (NMI "
                f"at least {_ALIKE}): {_names(group)}.",
            )
            for group in alike
        ),
        (
            equal or alike,
            "If they are runs of the same setting with other seeds, count them once: "
            f"ensclust consensus --distinct {_ALIKE} keeps one of each group.",
        ),
        (
            np.median(ensemble.cluster_counts) > _many(ensemble.n_objects),
            "Many values per column. If these are features, use ensclust cluster.",
        ),
        (
            facts["n_absent"],
            f"{counted(facts['n_absent'], 'object')} will get the consensus label -1.",
        ),
        (
            matrix > DEFAULT_MEMORY,
            f"A matrix of the distinct rows would take {gibibytes(matrix)}: "
            "object-level methods work without it, but slowly. Start with -m ecpcs-mc.",
        ),
    ]
    return [hint for applies, hint in hints if applies]


def _equal_columns(ensemble: Ensemble, names: Sequence[str]) -> list[list[str]]:
    """Return the groups of clusterings that differ only in the names of clusters."""
    import numpy as np

    from ensclust._support.digests import digest
    from ensclust._support.encoding import first_places, ranks

    groups: dict[str, list[str]] = {}
    for name, column, k in zip(
        names, ensemble.columns, ensemble.cluster_counts.tolist(), strict=True
    ):
        place = np.minimum(column, k)  # the last is for missing labels
        rank = np.append(ranks(first_places(place, k + 1)[:k])[0], np.int32(-1))
        groups.setdefault(digest(rank[place]), []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def _nearly_equal(
    ensemble: Ensemble, names: Sequence[str], equal: list[list[str]]
) -> list[list[str]]:
    """Return the groups of clusterings that are similar but not all equal.

    Leaves out columns that are hardly clusterings, which would take much memory.
    """
    import numpy as np

    from ensclust._trees.coassociation import DEFAULT_MEMORY

    counts = ensemble.cluster_counts
    usual = np.flatnonzero((counts > 1) & (counts <= _many(ensemble.n_objects)))
    if len(usual) < 2 or 8 * counts[usual].sum() ** 2 > DEFAULT_MEMORY:
        return []
    found = ensemble.select(usual).redundant(_ALIKE)
    groups = [
        [names[m] for m in usual[sorted([kept, *others])]]
        for kept, others in found.items()
    ]
    return [own for own in groups if not any(set(own) <= set(same) for same in equal)]


def _of_features(path: str | os.PathLike, call: str, choice: dict) -> dict[str, Any]:
    table = ensclust.io.read_features(path, **choice)
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
    from ensclust._support.features import uneven

    said, cure = uneven(X) or ("", "")
    cure = cure or "ensclust cluster scales all columns unless --scale none."
    hints = [
        (constant, f"Constant, no effect: {_names(constant)}."),
        (said, f"{said} {cure}"),
    ]
    return {
        "file": str(path),
        "content": "features",
        "n_objects": X.shape[0],
        "n_features": X.shape[1],
        "has_ids": table.ids is not None,
        "columns": columns,
        "suggestions": [
            *table.notes,
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
            f"{count} looks like a clustering. Name other clusterings, or create some: "
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


def _described(columns: list[dict[str, Any]]) -> list[str]:
    """Return columns of a mixed table as lines of at most 79 characters."""
    rows = [
        ["name", "type", "missing", "distinct", "could be", "examples"],
        *(
            [
                column["name"][:24],
                column["type"],
                f"{column['n_missing']:,}",
                f"{column['n_values']:,}",
                column["role"],
                ", ".join(column["examples"]),
            ]
            for column in columns[:_SHOWN]
        ),
    ]
    a, b, c, d, e, _ = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    form = f"  {{:{a}}}  {{:{b}}}  {{:>{c}}}  {{:>{d}}}  {{:{e}}}  {{}}"
    more = len(columns) - _SHOWN
    return [
        *(form.format(*row)[:79].rstrip() for row in rows),
        *[f"  ... and {more:,} more"] * (more > 0),
    ]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
