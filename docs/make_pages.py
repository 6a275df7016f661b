"""Fill the generated parts of the site's pages: ``python -m docs.make_pages``."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks import causes, report, results, table

from docs import make_readme
from ensclust._methods import METHODS

DOCS = Path(__file__).parent
CAUSES = make_readme.REPRODUCTION.with_name("causes.json")
LARGE = (
    ("crowd-10000000", "ecpcs-mc"),
    ("wide", "ensclust"),
    ("leaves-100000", "ecpcs-hc"),
    ("leaves-100000", "eac"),
    ("first-use", "first"),
    ("first-use", "second"),
)
FAMILIES = {"methods-few": "few", "methods": "objects", "methods-many": "many"}


def render() -> dict[Path, str]:
    """Return the pages with their parts brought up to date."""
    parts = {
        DOCS / "guide" / "which-method.md": {"methods": methods},
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


def methods() -> str:
    """Return scores, ranks and seconds of the methods, the best first."""
    found = json.loads(make_readme.REPRODUCTION.read_text())
    measured = results.collect(measurements())
    averages = [found["averages"][f"{measure} true-k"] for measure in ("nmi", "ari")]
    ranks = averages[0]["rank"]
    rows = [("method", "NMI", "rank", "ARI", "rank", "time")]
    for method in sorted(found["methods"], key=lambda name: ranks.get(name, 99)):
        scores = [
            f"{average[what][method]:.1f}" if method in average[what] else ""
            for average in averages
            for what in ("score", "rank")
        ]
        rows.append((f"`{method}`", *scores, cell(measured, "methods", method)))
    size = table.SIZES["full"]
    unfinished = " Empty: not yet run on all of them." * any("" in row for row in rows)
    return (
        f"{found['n_runs']} runs on {len(found['datasets'])} datasets of the ECPCS "
        "paper, asked for as many clusters as there are classes: average NMI and ARI "
        "with the classes in percent, and average rank among the methods (1 is best). "
        f"Time: the consensus of {size['objects']:,} objects in {size['base']['m']} "
        f"base clusterings.{unfinished}\n\n{make_readme.markdown(rows)}\n"
    )


def speed() -> str:
    """Return what was measured: work beside that of others, methods at three sizes."""
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
    return (
        f"Beside other ways to do the same work; {make_readme.speed()}\n"
        f"The methods, from labels to labels: M = {size['base']['m']} base clusterings "
        f"with {size['base']['lo']} to {size['base']['hi']} clusters each, k = "
        f"{size['k']}. Memory is the most that was taken at the largest N of the row. "
        f"Empty: not linear in N, not run.\n\n{make_readme.markdown(rows)}\n\n"
        f"{report.notes(table.measurements('full'), lines)[0]}\n"
    )


def large() -> str:
    """Return what has no rival: large sizes, and the first use of the command."""
    measured = results.collect(measurements())
    titles = {m.name: m.title for m in table.measurements("full")}
    rows = [("work", "time", "memory")]
    for name, side in LARGE:
        work = titles[name] if side == "ensclust" else f"{titles[name]}: {side}"
        memory = cell(measured, name, side, "peak_mb") * (name != "first-use")
        rows.append((work, cell(measured, name, side), memory))
    return f"{make_readme.markdown(rows)}\n"


def bounds() -> str:
    """Return how fast each stage does what it cannot do without."""
    measured = results.collect(measurements())
    size, graph = table.SIZES["full"], table.SIZES["full"]["graph"]
    nc, m, rows = graph["m"] * graph["hi"], size["base"]["m"], size["objects"]
    stages = [
        ("product of two matrices, NumPy", 2 * 1250**3, "flop",
         "methods", "product 1250"),
        ("propagation by doubling, 11 products", 11 * 2 * nc**3, "flop",
         "propagate-20", "ensclust"),
        ("overlaps of base clusters", size["many"] * m * (m - 1) / 2, "increments",
         "intersections", "ensclust"),
        ("tree in a matrix", rows**2 / 2, "pairs", "linkage", "square"),
        ("tree in label space", rows**2 / 2 * m, "look-ups", "linkage", "label space"),
    ]  # fmt: skip
    cells = [("stage", "at least", "time", "so, per second")]
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
    """Return a measured amount with its unit, empty where there is none."""
    result = measured.get((family, side))
    return "" if result is None else report.amount(result, what)


if __name__ == "__main__":
    for path, text in render().items():
        path.write_text(text)
