"""Fill the generated parts of the site's pages: ``python -m docs.make_pages``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from benchmarks import causes, report, results, table
from benchmarks.large import GEMM

from docs import make_methods, make_readme
from ensclust._methods import METHODS
from ensclust.paper import _layout

DOCS = Path(__file__).parent
CAUSES = make_readme.REPRODUCTION.with_name("causes.json")
COMPARISON = make_readme.REPRODUCTION.with_name("methods") / "methods.json"
LARGE = (
    ("crowd-10000000", "ecpcs-mc"),
    ("wide", "ensclust"),
    ("leaves-100000", "ecpcs-hc"),
    ("leaves-100000", "eac"),
    ("first-use", "first"),
    ("first-use", "second"),
)
DECISIONS = {
    "the best mean score, or a tree, which can be cut into any number of clusters (up "
    "to about 10⁵ distinct label rows: objects whose labels differ in some input)": (
        "ecpcs-hc",
        "wct",
    ),
    "a good result at any size, soft memberships, fast labels for new objects": (
        "ecpcs-mc",
        "lwmc",
    ),
    "the same as from `ecpcs-mc`, by a spectral cut of a graph, which serves several "
    "numbers of clusters at once": ("ecpcs-bg", "lwgp", "usenc"),
    "the number of clusters left to the method (`n_clusters=None`)": ("communities",),
    "probabilities of the clusters, or k by an information criterion "
    '(`n_clusters="bic"`)': ("em",),
    "a vote of the inputs, as in the R packages clue and cola (`voting`), or "
    "cumulative voting (`cvote`)": ("voting", "cvote"),
    "clusters of about equal size": ("mcla", "cspa", "hbgf"),
    "a tree that favours base clusters, or clusterings, that others confirm": (
        "lwea",
        "weac",
    ),
    'the classic baseline, or k from the tree itself (`n_clusters="lifetime"`)': (
        "eac",
    ),
    "methods to compare with, from other papers": (
        "srs",
        "ptgp",
        "pta",
        "gp-mgla",
        "lce-bg",
        "kcc",
        "ecc",
        "sec",
        "kmodes",
    ),
}
EDGES = "The weights multiply the edges to the clusters of each clustering."
FAMILIES = {"methods-few": "few", "methods": "objects", "methods-many": "many"}


def render() -> dict[Path, str]:
    """Return the pages with their parts updated."""
    parts = {
        DOCS / "guide" / "which-method.md": {
            "decisions": decisions,
            "methods": methods,
            "weights": weights,
        },
        DOCS / "performance.md": {"speed": speed, "large": large, "bounds": bounds},
        DOCS / "reproduction.md": {
            "reproduction": make_readme.reproduction,
            "causes": lambda: causes.tables(json.loads(CAUSES.read_text())),
        },
    }
    return {
        path: make_readme.fill(path.name, path.read_text(), part)
        for path, part in parts.items()
    }


def decisions() -> str:
    """Return which methods to use for what, with their scores and times."""
    nmi, ari = json.loads(COMPARISON.read_text())[:2]
    measured = results.collect(measurements())
    rows = [("you want", "use", "NMI, %", "ARI, %", "time")]
    for want, names in DECISIONS.items():
        for place, method in enumerate(names):
            scores = [f"{t['methods'][method]['score']:.1f}" for t in (nmi, ari)]
            time = cell(measured, "methods", method)
            rows.append(("" if place else want, f"`{method}`", *scores, time))
    return (
        "Scores and times are those of the table [below](#how-good-they-are). Where "
        "the first cell is empty, the method is an alternative for the purpose named "
        "last.\n\n"
        f"{_layout.grid(rows, left=2)}\n"
    )


def methods() -> str:
    """Return scores, ranks and seconds of the methods, the best first."""
    nmi, ari = json.loads(COMPARISON.read_text())[:2]
    measured = results.collect(measurements())
    rows = [
        (
            "method",
            "NMI",
            "NMI against `ecpcs-hc`",
            "rank by NMI",
            "ARI",
            "rank by ARI",
            "time",
        )
    ]
    for method, own in nmi["methods"].items():
        other = ari["methods"][method]
        rows.append(
            (
                f"`{method}`",
                f"{own['score']:.1f}",
                f"{own['difference']:+.1f} ± {own['difference error']:.1f}",
                f"{own['rank']:.1f} ± {own['rank error']:.1f}",
                f"{other['score']:.1f}",
                f"{other['rank']:.1f} ± {other['rank error']:.1f}",
                cell(measured, "methods", method),
            )
        )
    size = table.SIZES["full"]
    return (
        "The table shows the mean NMI and ARI between result and classes, in percent, "
        "and the mean rank among the methods (1 is best), with standard errors over "
        f"the datasets. Each method was run {nmi['n_runs']} times on "
        f"{len(nmi['datasets'])} datasets of the [ECPCS "
        "paper](https://doi.org/10.1109/TSMC.2018.2876202), with as many clusters as "
        "there are classes. The best rank by NMI comes first. Time is for the "
        f"consensus of {size['objects']:,} objects in {size['base']['m']} base "
        "clusterings. The [whole "
        "comparison](../../benchmarks/results/methods/methods.md) also has the scores "
        "at the best of ten numbers of clusters; `ensclust reproduce methods` repeats "
        "the comparison.\n\n"
        f"{make_readme.markdown(rows)}\n"
    )


def weights() -> str:
    """Return what weights do in each method, or why it has none."""
    rows = [("method", "weights", "what they do, or why not")]
    for name, method in METHODS.items():
        why_not = method.info.lacks.get("weights")
        said = make_methods.sentence(why_not) if why_not else use(method)
        if name != "usenc":
            said = said.replace(EDGES, "The rest is as in `usenc`.")
        rows.append((f"`{name}`", "no" if why_not else "yes", said))
    return f"{_layout.grid(rows, left=3)}\n"


def use(method: type) -> str:
    """Return what a method's notes say about weights of base clusterings."""
    said = make_methods.about(method, "weights")
    said = re.sub(r"[;,] (with )?`cluster_weights\b[^.]*", "", said)
    said = said.replace("With `weights`", "With weights")
    return said.replace("`weights`", "The weights")


def speed() -> str:
    """Return what was measured: comparisons with others, methods at three sizes."""
    lines = measurements()
    measured = results.collect(lines)
    size = table.SIZES["full"]
    rows = [("method", *(f"N = {size[n]:,}" for n in FAMILIES.values()), "memory")]
    for method in METHODS:
        ran = [family for family in FAMILIES if (family, method) in measured]
        if ran:
            times = [cell(measured, family, method) for family in FAMILIES]
            memory = cell(measured, ran[-1], method, "peak_mb")
            rows.append((f"`{method}`", *times, memory))
    rows_of = list(make_readme.compare(lines))
    inner = [row for row in rows_of if row.key[2] in (*METHODS, GEMM)]
    outer = [row for row in rows_of if row not in inner]
    return (
        f"{make_readme.compared(lines, outer, 'other code')}\n"
        "Each method below is compared with the method that it builds on (both are in "
        "ensclust), and a pass of k-means with the matrix product that it needs:\n\n"
        f"{make_readme.compared_with('compared with', lines, inner)}\n\n"
        f"The methods, from labels to labels: M = {size['base']['m']} base clusterings "
        f"with {size['base']['lo']} to {size['base']['hi']} clusters each, k = "
        f"{size['k']}. Memory is the peak at the largest N of the row. Methods that "
        "are not linear in N were not run at the largest size.\n\n"
        f"{make_readme.markdown(rows)}\n\n"
        f"{report.notes(table.measurements('full'), lines)[0]}\n"
    )


def large() -> str:
    """Return work without a rival: large sizes, and the first use of the command."""
    measured = results.collect(measurements())
    titles = {m.name: m.title for m in table.measurements("full")}
    rows = [("work", "time", "memory")]
    for name, side in LARGE:
        work = titles[name] if side == "ensclust" else f"{titles[name]}: {side}"
        memory = cell(measured, name, side, "peak_mb") * (name != "first-use")
        rows.append((work, cell(measured, name, side), memory))
    return f"{make_readme.markdown(rows)}\n"


def bounds() -> str:
    """Return how fast each stage does the work that it cannot avoid."""
    measured = results.collect(measurements())
    size, graph = table.SIZES["full"], table.SIZES["full"]["graph"]
    nc, m = graph["m"] * graph["hi"], size["base"]["m"]
    stages = [
        ("product of two matrices, NumPy", 2 * 1250**3, "flop",
         "methods", "product 1250"),
        ("propagation by doubling, 11 products", 11 * 2 * nc**3, "flop",
         "propagate-20", "ensclust"),
        ("overlaps of base clusters", size["many"] * m * (m - 1) / 2, "increments",
         "intersections", "ensclust"),
    ]  # fmt: skip
    cells = [("stage", "work", "time", "work per second")]
    for stage, amount, unit, *side in stages:
        seconds = measured[tuple(side)].seconds
        work = f"{amount / 1e6:,.0f} million {unit}"
        rate = f"{amount / seconds / 1e6:,.0f} million"
        cells.append((stage, work, cell(measured, *side), rate))
    return f"{make_readme.markdown(cells)}\n"


def measurements() -> list[dict]:
    """Return the lines of the benchmark."""
    return [json.loads(line) for line in make_readme.SPEED.read_text().splitlines()]


def cell(measured: dict, family: str, side: str, what: str = "seconds") -> str:
    """Return a measured amount with its unit, empty if there is none."""
    result = measured.get((family, side))
    return "" if result is None else report.amount(result, what)


if __name__ == "__main__":
    for path, text in render().items():
        path.write_text(text)
