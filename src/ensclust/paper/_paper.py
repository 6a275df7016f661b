"""The published results: paper.json as numbers, in percent."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).parent / "paper.json"


class Score(NamedTuple):
    """Mean and standard deviation over runs, and the number of runs."""

    mean: float
    std: float
    n_runs: int = 20


@cache
def facts() -> dict[str, Any]:
    """Return the whole file."""
    return json.loads(_FILE.read_text())


def compared(measure: str, dataset: str, criterion: str) -> dict[str, Score]:
    """Return the scores of the ten methods in Table II (NMI) or III (ARI).

    Examples
    --------
    >>> compared("nmi", "wine", "true-k")["ecpcs-hc"]
    Score(mean=88.82, std=2.82, n_runs=20)
    """
    # Both normalisations of NMI are "nmi" in the file.
    row = facts()["compare"][measure.removesuffix("-max")][dataset][criterion]
    return {
        method: Score(*score)
        for method, score in zip(facts()["methods"], row, strict=True)
    }


def by_steps(measure: str, dataset: str, method: str) -> dict[int, float]:
    """Return the best-k scores by step length in Table IV (NMI) or V (ARI)."""
    row = facts()["steps"][measure.removesuffix("-max")][dataset][method]
    return dict(zip(facts()["step_values"], row, strict=True))
