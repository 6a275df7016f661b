"""The demo: k-means against ten consensus methods on handwritten digits."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

import ensclust
from ensclust._kernels._compiling import stopwatch
from ensclust._support.progress import phase, progress
from ensclust.cli._options import json_option, no_stdout, to_stdout

# Heavy modules are imported when a command runs, so that --help is fast.
# ruff: noqa: PLC0415

if TYPE_CHECKING:
    import numpy as np

    from ensclust import Ensemble

_K, _RUNS = 10, 20
_LOW, _HIGH = 10, 42  # clusters of a base clustering
_BASE_K = {"a single k-means": _K, "a base clustering": (_LOW, _HIGH)}


@click.command(short_help="Compare the methods on handwritten digits.")
@click.option("-o", "--output", default="ensclust-demo-labels.csv", show_default=True,
              metavar="FILE", help="Output file for the labels.",
              callback=no_stdout)  # fmt: skip
@json_option
@to_stdout
def demo(output: str, *, as_json: bool) -> None:
    """Compare k-means with ten consensus methods on handwritten digits."""
    import numpy as np

    ensclust.io.check_output(output)
    labels, scores, left_out = run_demo(quiet=as_json)
    ensclust.io.write_labels(
        output, np.column_stack(list(labels.values())), names=list(labels)
    )
    if as_json:
        facts = {"scores": scores, "left_out": left_out, "output": output}
        click.echo(json.dumps({"dataset": "digits", **facts}))
    else:
        click.echo(f"{as_text(scores, left_out)}\n\nLabels written to {output}")


def run_demo(
    *, quiet: bool
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]], dict[str, str]]:
    """Return the classes, labels and scores per method, and methods not installed."""
    from sklearn.datasets import load_digits

    X, truth = load_digits(return_X_y=True)
    scores = []
    with progress("demo", quiet=quiet):
        ensclust.generate(X[:200], 4, random_state=0)  # warm-up
        for name, base_k in _BASE_K.items():
            with phase(name):
                seconds = stopwatch()
                ensemble = ensclust.generate(X, _RUNS, base_k=base_k, random_state=0)
                scores.append(_mean_score(name, seconds() / _RUNS, truth, ensemble))
        found = ensclust.compare(ensemble, _K, truth=truth, random_state=0)
    rows = {row["method"]: row for row in found.table}
    names = [name for name in ensclust.methods() if name in rows]
    for name in names:
        own = {measure: rows[name][measure] for measure in ("nmi", "ari")}
        scores.append({"name": name, **own, "seconds": round(rows[name]["seconds"], 4)})
    labels = dict(zip(found.methods, found.labels.T, strict=True))
    in_order = {"truth": truth, **{name: labels[name] for name in names}}
    return in_order, scores, found.left_out


def as_text(scores: list[dict[str, Any]], left_out: dict[str, str]) -> str:
    """Return the scores as a table of text."""
    lines = [
        "Handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes",
        "",
        f"{'':20}{'NMI %':>7}{'ARI %':>8}{'seconds':>10}",
    ]
    for i, row in enumerate(scores):
        numbers = (
            f"{100 * row['nmi']:7.1f}{100 * row['ari']:8.1f}{row['seconds']:10.3f}"
        )
        lines += [""] * (i == len(_BASE_K)) + [f"{row['name']:20}{numbers}"]
    lines += [f"{name:22}{why}" for name, why in left_out.items()]
    lines += ["", *_explanation(scores)]
    return "\n".join(lines)


def _explanation(scores: list[dict[str, Any]]) -> list[str]:
    """Return how to read the table, and why some methods score below their inputs."""
    from ensclust._methods import METHODS

    text = (
        f"The first two rows are means of {_RUNS} runs. Each method below combines the "
        f"same {_RUNS} base clusterings, which have {_LOW} to {_HIGH} clusters each."
    )
    inputs = next((x["nmi"] for x in scores if x["name"] == "a base clustering"), 0)
    below = [
        row["name"]
        for row in scores
        if row["name"] in METHODS
        and METHODS[row["name"]].info.family == "label rows"
        and row["nmi"] < inputs
    ]
    if below:
        text += (
            f" {_listed(below)} {'stay' if len(below) > 1 else 'stays'} below "
            "these inputs: they group label rows as k-means does, and do well only "
            f"if base clusterings have about as many clusters as the result ({_K}). "
            "They are included because papers compare with them."
        )
    return textwrap.wrap(text, 78)


def _listed(names: list[str]) -> str:
    """Return names as in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _mean_score(
    name: str, seconds: float, truth: np.ndarray, ensemble: Ensemble
) -> dict[str, Any]:
    found = ensclust.metrics.agreement(ensemble, truth)
    nmi, ari = float(found.nmi.mean()), float(found.ari.mean())
    return {"name": name, "nmi": nmi, "ari": ari, "seconds": round(seconds, 4)}
