"""Effects of renaming base clusters or reordering clusterings.

Neither carries information about the objects, so the partition should not change.
``python -m benchmarks.relabelling`` combines small random ensembles with every method,
unchanged and changed, and determines for each partition that differs why it does. It
takes two minutes and writes benchmarks/results/relabelling.json and the marked part of
docs/trust.md.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.report import fill
from ensclust import Dendrogram
from ensclust._methods import METHODS
from ensclust._support.json_files import write_json
from ensclust.paper._layout import grid

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "relabelling.json"
PAGE = ROOT / "docs" / "trust.md"
COMMAND = "python -m benchmarks.relabelling"
N_ENSEMBLES = 60
N_SEEDS = 200  # most seeds to try until one changes the partition too
EQUAL, ROUNDED = 1e-12, 1e-6  # differences of heights
CAUSES = ("tie", "rounding", "draw", "neither")


def main() -> None:
    """Count the changes and write the results."""
    found = {
        name: Counter({"relabelled": 0, "reordered": 0, "reseeded": 0})
        for name in METHODS
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer clusters than requested are fine
        for number in range(N_ENSEMBLES):
            labels, k, changed = ensemble(number)
            for name, counts in found.items():
                counts.update(outcome(name, labels, k, changed))
    rows = {name: dict(counts) for name, counts in found.items()}
    write_json(RESULTS, {"n_ensembles": N_ENSEMBLES, "methods": rows}, indent=1)
    text = report(N_ENSEMBLES, rows)
    fill(PAGE, COMMAND, text)
    print(text)


def ensemble(number: int) -> tuple[np.ndarray, int, dict[str, np.ndarray]]:
    """Return random labels, a number of clusters, and changed labels."""
    rng = np.random.default_rng(number)
    n, m = round(20 * 10 ** rng.random()), int(rng.integers(3, 11))
    k, noise = int(rng.integers(2, 9)), rng.random()
    truth = rng.integers(0, k, n)
    labels = np.where(
        rng.random((n, m)) < noise, rng.integers(0, k + 2, (n, m)), truth[:, None]
    )
    names = [rng.permutation(k + 2) for _ in range(m)]
    changed = {
        "relabelled": np.column_stack(
            [own[column] for own, column in zip(names, labels.T, strict=True)]
        ),
        "reordered": labels[:, rng.permutation(m)],
    }
    return labels, k, changed


def outcome(name: str, labels: np.ndarray, k: int, changed: dict) -> list[str]:
    """Return what changes the partition of one ensemble, and why."""

    def fit(labels: np.ndarray, seed: int):
        return METHODS[name](k, base="precomputed", random_state=seed).fit(labels)

    def seed_changes(seed: int) -> bool:
        return not np.array_equal(fit(labels, seed).labels_, known.labels_)

    known = fit(labels, 0)
    words = ["reseeded"] * seed_changes(1)
    for change, other in changed.items():
        found = fit(other, 0)
        if np.array_equal(found.labels_, known.labels_):
            continue
        if hasattr(known, "dendrogram_"):
            cause = tree_cause(known.dendrogram_, found.dendrogram_)
        else:
            is_drawn = any(map(seed_changes, range(1, N_SEEDS + 1)))
            cause = "draw" if is_drawn else "neither"
        words += [change, cause]
    return words


def tree_cause(one: Dendrogram, other: Dendrogram) -> str:
    """Return why the cuts of two trees differ.

    Below the lowest cluster that only one tree has, both have the same clusters. There,
    each merges the pair that it considers nearest: pairs at the same height are a tie.
    Cuts of trees with the same clusters only differ among equal heights.
    """
    trees = [clusters(tree) for tree in (one, other)]
    own = [
        {members: height for members, height in mine.items() if members not in theirs}
        for mine, theirs in (trees, trees[::-1])
    ]
    lowest = [min(tree.values(), default=0.0) for tree in own]
    difference = abs(lowest[0] - lowest[1])
    if difference <= EQUAL:
        return "tie"
    return "rounding" if difference <= ROUNDED else "neither"


def clusters(tree: Dendrogram) -> dict[frozenset[int], float]:
    """Return the height of each merge, by the objects that it joins."""
    table = tree.to_scipy()
    members = [frozenset([i]) for i in range(len(table) + 1)]
    for a, b in table[:, :2].astype(int).tolist():
        members.append(members[a] | members[b])
    heights = table[:, 2].tolist()
    return dict(zip(members[len(table) + 1 :], heights, strict=True))


def report(n_ensembles: int, rows: dict[str, dict[str, int]]) -> str:
    """Return a table of what changes which methods, and why."""
    columns = ("relabelled", "reordered", "reseeded", *CAUSES)
    causes = [{"neither": "the order itself"}.get(cause, cause) for cause in CAUSES]
    head = ("method", *columns[:2], "another `random_state`", *causes)
    cells = [
        (f"`{name}`", *(str(counts.get(column, 0)) for column in columns))
        for name, counts in rows.items()
        if any(counts.values())
    ]
    still = [f"`{name}`" for name, counts in rows.items() if not any(counts.values())]
    return (
        f"`{COMMAND}`: how many partitions of {n_ensembles} random ensembles (20 to "
        "200 objects, 3 to 10 clusterings) change when base clusters are relabelled, "
        "when clusterings are reordered, and with another `random_state` alone; and "
        "why they change in the first two cases.\n\n"
        f"{grid([head, *cells])}\n\n"
        f"Nothing changes with {', '.join(still[:-1])} and {still[-1]}.\n"
    )


if __name__ == "__main__":
    main()
