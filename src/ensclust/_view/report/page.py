"""The page: facts as one HTML file that contains everything and loads nothing.

Whatever comes from data is text: escaped in HTML and in JSON, and set as text by the
scripts. The Content-Security-Policy allows the scripts that this module writes, by
their hashes, and prevents the page from loading anything.
"""

import gzip
import json
import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.k_selection import KSelection
from ensclust._quality.result import Result
from ensclust._support.validation import import_optional
from ensclust._support.whole_files import check_writable, replacing
from ensclust._view.checks import no_page
from ensclust._view.palette import LINE, MARK, NEUTRAL, PALETTE
from ensclust._view.report import again
from ensclust._view.report.facts import Facts, collect

_ASSETS = files("ensclust._view.report") / "assets"
_SCRIPTS = (
    *("theme.js", "charts.js", "structure.js", "sweep.js", "table.js"),
    "main.js",
)
# Sections in their order; those that are None in the facts are left out.
_SECTIONS = (
    "clusters",
    "scatter",
    "matrix",
    "tree",
    "graph",
    "agreement",
    "objects",
    "selection",
    "sweep",
    "truth",
)
_COLOURS = {"neutral": NEUTRAL, "line": LINE, "mark": MARK, "third": PALETTE[2]}
_CELLS = 400  # of a contingency table that is also shown as text


def write_report(
    path: str | os.PathLike,
    runs: Any,
    labels: Any,
    *,
    X: Any = None,
    truth: Any = None,
    ids: Sequence | None = None,
    names: Sequence | None = None,
    selection: KSelection | None = None,
    sweep: Any = None,
    map_of: str | None = None,
    colors: Sequence | None = None,
    title: str | None = None,
) -> None:
    """Write a clustering and its base clusterings as one HTML file.

    The file opens offline in a browser: sizes of the clusters, consensus matrix, maps
    of the objects, agreement of the base clusterings, least certain objects. Estimators
    have a method ``report``, which adds what is specific to the method.

    Parameters
    ----------
    path : str or path
        The file; written completely or not at all.
    runs : Ensemble, array-like, DataFrame or path
        The base clusterings, (N, M), as in :func:`ensclust.consensus`.
    labels : array-like of shape (N,)
        The clustering to report, a consensus or any other; negative, NaN or None for
        an object without a cluster.
    X : array-like or sparse matrix of shape (N, n_features), optional
        Features for a map of the objects. Two or three columns, such as a UMAP, are
        shown as they are; more columns as principal components.
    truth : array-like of shape (N,), optional
        True classes to compare with.
    ids : sequence of N, optional
        Names of the objects; by default 0, 1, ...
    names : sequence of M, optional
        Names of the base clusterings; by default 0, 1, ...
    selection : KSelection, optional
        What :func:`ensclust.select_k` found. The page then shows how clusters split
        from one k to the next, and the consensus matrix and CDF for each k.
    sweep : array-like or DataFrame of shape (N, n_levels), optional
        Clusterings across k or resolution to show in this way instead, in their order,
        such as ``consensus(runs, range(2, 9))``; at most 12 of them are shown.
    map_of : "features", "ensemble", "components" or None
        The map that is shown first; a switch shows the other. "features" needs ``X``;
        "ensemble" is a t-SNE of the label rows, in which objects that are often
        together are close; "components", without ``X``, are principal components of
        the co-association. By default "features" if ``X`` is given, else "ensemble".
    colors : sequence of colours, optional
        One per cluster, in the order of the sorted labels; by default the palette that
        all displays share.
    title : str, optional
        Heading of the page.

    Notes
    -----
    About 2.3 MB for any N: the matrix has at most 240 groups of objects (or one for
    each cluster), the maps 5,000 objects, the table the 1,000 least certain. Time
    N M + F M k for F distinct label rows and N M^2 / 2 for comparing the clusterings
    with each other; memory at most about (200 + 4 M) N bytes. Equal input gives equal
    files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> runs = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Path(folder, "report.html"), runs, [0, 0, 1, 1, 1])
    """
    check_report(path)
    given = {
        "X": X,
        "truth": truth,
        "ids": ids,
        "names": names,
        "selection": selection,
        "sweep": sweep,
        "map_of": map_of,
        "colors": colors,
        "title": title,
    }
    call = again.lines(None, **given)
    if names is None and not isinstance(runs, Ensemble):
        given["names"] = getattr(runs, "columns", None)
    write_page(path, collect(Ensemble(runs), labels, call=call, **given))


def report_model(path: str | os.PathLike, result: Result, **given: Any) -> None:
    """Write the page of a fitted method; see :meth:`BaseConsensus.report`."""
    check_report(path)
    call = again.lines(result, **given)
    if given.get("names") is None:
        given["names"] = result.names
    if result.objects is not None:
        given |= _of_sample(result, given)
    write_page(
        path,
        collect(result.ensemble, result.labels, result=result, call=call, **given),
    )


def _of_sample(result: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return what was given for all objects, reduced to those shown."""
    each = ("X", "truth", "ids", "sweep")
    whole = [name for name in each if given.get(name) is not None]
    return {
        name: _safe_indexing(given[name], result.objects)
        for name in whole
        if _num_samples(given[name]) == result.n_objects
    }


def check_report(path: str | os.PathLike) -> None:
    """Raise now if a report could not be written to ``path`` later."""
    import_optional("plotly", "a report", "report")
    if not isinstance(path, str | os.PathLike):
        raise no_page(path)
    if Path(path).suffix.lower() not in (".html", ".htm"):
        msg = f"{path} does not end in .html, as a report must for browsers to open it."
        raise ValueError(msg)
    check_writable(path)


def write_page(path: str | os.PathLike, facts: Facts) -> None:
    """Write the page of some facts, completely or not at all."""
    with replacing(Path(path)) as handle:
        handle.write(render(facts).encode())


def render(facts: Facts) -> str:
    """Return the page of some facts."""
    script = "\n".join(_asset(name) for name in _SCRIPTS)
    values = asdict(facts)
    shown = [name for name in _SECTIONS if values[name] is not None]
    texts = _texts(facts)
    library, digest = _library()
    return Template(_asset("page.html")).substitute(
        texts,
        policy=f"'{_digest(script)}' '{digest}'",
        style=_asset("page.css"),
        sections="\n".join(
            Template(_asset(f"{name}.html")).substitute(texts) for name in shown
        ),
        data=_json(
            _COLOURS
            | {"palette": facts.colors}
            | {name: values[name] for name in shown}
        ),
        library=library,
        script=script,
    )


@cache
def _library() -> tuple[str, str]:
    """Return Plotly's script, packed as text, and the digest of its source."""
    source = import_optional("plotly.offline", "a report", "report").get_plotlyjs()
    return (
        b64encode(gzip.compress(source.encode(), mtime=0)).decode(),
        _digest(source),
    )


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


def _digest(script: str) -> str:
    return "sha256-" + b64encode(sha256(script.encode()).digest()).decode()


def _json(values: Any) -> str:
    """Return JSON that cannot end the script element that contains it."""
    text = json.dumps(
        values, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
    # Half of a surrogate pair, from a broken file, is not valid in UTF-8.
    return text.encode("utf-8", "backslashreplace").decode()


def _texts(facts: Facts) -> dict[str, str]:
    """Return the texts of the page, escaped."""
    truth = facts.truth or {"nmi": None, "ari": None, "ecs": None, "compared": 0}
    selection = facts.selection or {"method": "", "outcome": "", "judged": 0}
    plain = {
        "title": facts.title,
        "summary": facts.summary,
        "call": facts.call,
        "seed": facts.seed,
        "nmi": _number(truth["nmi"]),
        "ari": _number(truth["ari"]),
        "ecs": _number(truth["ecs"]),
        "compared": f"{truth['compared']:,}",
        "selection_method": selection["method"],
        "outcome": selection["outcome"],
        "judged": f"{selection['judged']:,}",
    }
    return {
        **{name: _escaped(text) for name, text in plain.items()},
        "figures": "".join(
            f"<div><dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd></div>"
            for name, value in facts.figures.items()
        ),
        "matrix_width": ""
        if facts.tree or facts.graph
        else "wide",  # it is alone in its row
        "cluster_table": _cluster_table(facts),
        "truth_table": _truth_table(facts),
        "parameters": _rows(facts.parameters.items()),
        "versions": _rows(facts.versions.items()),
    }


def _escaped(text: str) -> str:
    return escape(text.encode("utf-8", "backslashreplace").decode())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _rows(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of a table; the first cell of each names it."""
    return "".join(
        f"<tr><th scope=row>{_escaped(name)}</th>"
        + "".join(f"<td>{_escaped(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )


def _cluster_table(facts: Facts) -> str:
    columns = (facts.clusters[name] for name in ("names", "sizes", "consensus"))
    return _rows(
        (name, f"{size:,}", _number(consensus))
        for name, size, consensus in zip(*columns, strict=True)
    )


def _truth_table(facts: Facts) -> str:
    """Return the contingency table as rows of HTML, if it is small enough to read."""
    truth = facts.truth
    if truth is None or len(truth["table"]) * len(truth["classes"]) > _CELLS:
        return ""
    head = "".join(f"<th scope=col>{_escaped(name)}</th>" for name in truth["classes"])
    rows = _rows(
        (name, *(f"{count:,}" for count in row))
        for name, row in zip(facts.clusters["names"], truth["table"], strict=True)
    )
    return (
        f"<thead><tr><th scope=col>cluster</th>{head}</tr></thead><tbody>{rows}</tbody>"
    )
