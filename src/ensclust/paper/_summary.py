"""How close we are to the paper, in numbers and in words."""

from collections.abc import Sequence
from typing import Any

from ensclust.paper import _layout, _paper, _protocol, _scores
from ensclust.paper._paper import Score
from ensclust.paper._scores import Cell, Setting

_PLACES = {"first": 1, "top three": 3}


def summarize(averages: dict[Setting, Score]) -> dict[str, Any]:
    """Return counts of cells, the check of ECPCS, averages, ranks and winners."""
    cells = _scores.cells(averages)
    groups = [(m, c) for m in _protocol.MEASURES for c in _protocol.CRITERIA]
    checked = [
        cell
        for cell in cells
        if cell.setting.criterion == "true-k"
        and cell.setting.method in _protocol.PROPAGATING
    ]
    return {
        "n_runs": max((score.n_runs for score in averages.values()), default=0),
        "datasets": sorted({cell.setting.dataset for cell in cells}),
        "methods": [
            m for m in _protocol.METHODS if any(c.setting.method == m for c in cells)
        ],
        "cells": {f"{m} {c}": _closeness(cells, m, c) for m, c in groups},
        "off": _off(cells),
        "ecpcs": _check(checked, ("nmi", "ari")),
        "ecpcs with nmi-max": _check(checked, ("nmi-max", "ari")),
        "averages": {f"{m} {c}": _averages(averages, m, c) for m, c in groups},
        "ranked": {m: _ranked(averages, m) for m in _protocol.MEASURES},
    }


def as_markdown(summary: dict[str, Any]) -> str:
    """Return the summary as Markdown."""
    absent = ", ".join(summary["not available"])
    counts = [
        _count(summary["n_runs"], "run"),
        f"{_count(len(summary['datasets']), 'dataset')} "
        f"({', '.join(summary['datasets'])})",
        _count(len(summary["methods"]), "method"),
    ]
    found = ("cells", "within 1", "within 2", "above", "below")
    cells = [
        [_title(name), *(str(c[what]) for what in found)]
        for name, c in summary["cells"].items()
        if c["cells"]
    ]
    compared = [*_checks(summary), *_averaged(summary), *_ranks(summary)]
    paragraphs = [
        "# Reproduction of the paper's experiments",
        f"{', '.join(counts)}{'; not available: ' + absent if absent else ''}.",
        f"    {summary['command']}",
        *_origins(summary["data"]),
        f"Versions: {', '.join(map(' '.join, summary['versions'].items()))}.",
        "## Cells of Tables II and III compared with the published ones",
        "Distance in published standard deviations (SD).",
        _grid("table", "cells", "within 1 SD", "within 2 SD", "more than 2 above",
              "below", rows=cells),
        "Those that are more than 2 SD off by ARI, or by NMI as the paper seems to "
        "have normalised it:" * bool(summary["off"]),
        _far(summary["off"], "SD", "deviations", 1),
        *(compared if summary["datasets"] else []),
        *(_times(summary["time"]) if summary["time"] else []),
        *(_fragments(summary["fragments"]) if summary["fragments"] else []),
    ]  # fmt: skip
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def as_text(summary: dict[str, Any]) -> str:
    """Return the mean scores of each method, for a terminal; "" for none."""
    found = {
        name: own
        for name, own in summary["averages"].items()
        if own["score"] and not name.startswith("nmi-max")
    }
    if not found:
        return ""
    names = ", ".join(summary["datasets"])
    head = "".join(f"{_title(name):>16}" for name in found)
    return "\n".join(
        [
            f"Means over {_count(summary['n_runs'], 'run')} of {names};",
            "in parentheses the paper's over the same datasets",
            "",
            f"{'':10}{head}",
            *(
                f"{method:10}"
                + "".join(f"{_beside(own, method):>16}" for own in found.values())
                for method in summary["methods"]
            ),
        ]
    )


def _beside(found: dict[str, Any], method: str) -> str:
    """Return our mean score and the paper's."""
    ours, theirs = found["score"], found["paper score"]
    return f"{ours[method]:.2f} ({theirs[method]:.2f})" if method in ours else "-"


def _grid(*head: str, rows: Sequence[Sequence[str]]) -> str:
    return _layout.grid([head, *rows], gap="")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _origins(origins: dict[str, str]) -> list[str]:
    """Return where the data came from, which determines the order of their rows."""
    names = {
        where: [name for name in origins if origins[name] == where]
        for where in dict.fromkeys(origins.values())
    }
    found = "; ".join(f"{', '.join(n)} from {where}" for where, n in names.items())
    return [f"Data: {found}."] if origins else []


def _title(name: str) -> str:
    """Turn "nmi true-k" into "NMI true-k"."""
    measure, criterion = name.split()
    return f"{_protocol.TITLES[measure]} {criterion}"


def _far(cells: list[dict[str, Any]], title: str, what: str, digits: int) -> str:
    """Return a table of cells that are far from the published ones, if any."""
    rows = [
        [
            f"{c['dataset']} {c['method']} {_protocol.TITLES[c['measure']]} "
            f"{c.get('criterion', '')}".rstrip(),
            f"{c['ours']:.2f}",
            f"{c['paper']:.2f} ±{c['paper_std']:.2f}",
            f"{c[what]:+.{digits}f}",
        ]
        for c in cells
    ]
    return _grid("cell", "ours", "paper", title, rows=rows) if rows else ""


def _checks(summary: dict[str, Any]) -> list[str]:
    check, other = summary["ecpcs"], summary["ecpcs with nmi-max"]
    off, far = (
        _far([*found["above"], *found["below"]], "difference", "difference", 2)
        for found in (check, other)
    )
    return [
        "## ECPCS-HC and ECPCS-MC at true-k",
        f"A cell is inside if it differs from the paper by at most 2 published "
        f"standard deviations or {_scores.POINTS:.0f} points, whichever is larger: "
        f"**{check['inside']} of {check['cells']} cells are inside**, "
        f"{len(check['above'])} above, {len(check['below'])} below.",
        off,
        "With the mutual information divided by the larger entropy instead of the "
        f"geometric mean, {other['inside']} of {other['cells']} are inside, "
        f"{len(other['above'])} above, {len(other['below'])} below.",
        far,
    ]


def _averaged(summary: dict[str, Any]) -> list[str]:
    rows, best = [], []
    for name, found in summary["averages"].items():
        for kind in ("score", "rank") if found["rank"] else ():
            ours, theirs = found[kind], found[f"paper {kind}"]
            rows.append(
                [
                    f"{_title(name)}, {kind}",
                    *(
                        f"{ours[m]:.2f} ({theirs[m]:.2f})" if m in ours else ""
                        for m in summary["methods"]
                    ),
                ]
            )
        if rank := found["rank"]:
            first = sorted(rank, key=rank.__getitem__)[:2]
            word = " and " if len({rank[m] for m in first}) == 1 else ", then "
            best.append(f"- {_title(name)}: best average rank {word.join(first)}.")
    return [
        "## Averages over the datasets",
        "Ours, and in parentheses the paper's over the same datasets.",
        _grid("", *summary["methods"], rows=rows),
        "\n".join(best),
    ]


def _ranks(summary: dict[str, Any]) -> list[str]:
    paragraphs = ["## Times ranked first and in the top three"]
    for measure, found in summary["ranked"].items():
        rows = [
            [m, *(f"{found[p][m]} ({found[f'paper {p}'][m]})" for p in _PLACES)]
            for m in found["first"]
        ]
        paragraphs += [
            f"{_protocol.TITLES[measure]}, {found['comparisons']} comparisons; in "
            "parentheses the paper on the same ones.",
            _grid("method", *_PLACES, rows=rows),
        ]
    return paragraphs


def _times(seconds: dict[str, Any]) -> list[str]:
    """Return our seconds next to the three published ones, and the order."""
    published = _paper.facts()["seconds"]
    rows = [
        [method, f"{s:.2f}", str(published.get(method, ""))]
        for method, s in seconds["seconds"].items()
    ]
    order = [[claim, "yes" if ok else "no"] for claim, ok in seconds["order"].items()]
    return [
        "## Seconds of the consensus step",
        f"{_protocol.TIME_DATASET}, {seconds['n']:,} objects, one thread, base "
        f"clusterings excluded; the paper's on {_paper.facts()['seconds_machine']}.",
        _grid("method", "ours", "paper", rows=rows),
        _layout.grid([["the paper's order", "holds here"], *order], left=2, gap=""),
    ]


def _fragments(found: dict[str, Any]) -> list[str]:
    published = _paper.facts()["fragments"]
    rows = [
        ["fragments of 1 or 2 objects", f"{found['small_share']:.2f} %",
         f"over {published['small_share']:.0f} %"],
        ["fragments of more than 20 objects", f"{found['large_share']:.2f} %",
         f"{published['large_share']} %"],
        ["objects in those", f"{found['large_objects']:.2f} %",
         f"{published['large_objects']} %"],
    ]  # fmt: skip
    return [
        f"## Fragments of {found['dataset']} (M = {_protocol.N_CLUSTERINGS})",
        _grid("", "ours", "paper", rows=rows),
    ]


def seconds(times: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the seconds for the most objects and whether the paper's order holds."""
    if not times:
        return {}
    n = max(line["n"] for line in times)
    found = {line["method"]: line["seconds"] for line in times if line["n"] == n}
    found = dict(sorted(found.items(), key=lambda item: item[1]))
    fastest = {"ecpcs-mc is the fastest": next(iter(found)) == "ecpcs-mc"}
    order = fastest if "ecpcs-mc" in found else {}
    order |= {
        f"ecpcs-hc is faster than {slower}": found["ecpcs-hc"] < found[slower]
        for slower in ("ptgp", "wct", "srs")
        if {"ecpcs-hc", slower} <= set(found)
    }
    if {"ecpcs-hc", "ecc"} <= set(found):
        order["ecpcs-hc takes about as long as ecc (within a factor of 2)"] = (
            0.5 <= found["ecpcs-hc"] / found["ecc"] <= 2
        )
    return {"n": n, "seconds": found, "order": order}


def _closeness(cells: list[Cell], measure: str, criterion: str) -> dict[str, int]:
    found = [
        cell.deviations
        for cell in cells
        if (cell.setting.measure, cell.setting.criterion) == (measure, criterion)
    ]
    return {
        "cells": len(found),
        "within 1": sum(abs(deviation) <= 1 for deviation in found),
        "within 2": sum(abs(deviation) <= 2 for deviation in found),
        "above": sum(deviation > 2 for deviation in found),
        "below": sum(deviation < -2 for deviation in found),
    }


def _check(cells: list[Cell], measures: tuple[str, ...]) -> dict[str, Any]:
    chosen = [cell for cell in cells if cell.setting.measure in measures]
    outside = [cell for cell in chosen if not cell.is_inside]
    return {
        "cells": len(chosen),
        "inside": len(chosen) - len(outside),
        "above": [
            _facts(cell, "difference") for cell in outside if cell.difference > 0
        ],
        "below": [
            _facts(cell, "difference") for cell in outside if cell.difference < 0
        ],
    }


def _off(cells: list[Cell]) -> list[dict[str, Any]]:
    """Return cells more than 2 deviations off, using the paper's normalisation."""
    far = [c for c in cells if c.setting.measure != "nmi" and abs(c.deviations) > 2]
    return [
        _facts(cell, "criterion", "deviations")
        for cell in sorted(far, key=lambda cell: -abs(cell.deviations))
    ]


def _facts(cell: Cell, *more: str) -> dict[str, Any]:
    facts = {
        "dataset": cell.setting.dataset,
        "method": cell.setting.method,
        "measure": cell.setting.measure,
        "ours": round(cell.ours.mean, 2),
        "paper": cell.published.mean,
        "paper_std": cell.published.std,
    }
    other = {
        "criterion": cell.setting.criterion,
        "difference": round(cell.difference, 2),
        "deviations": round(cell.deviations, 2),
    }
    return facts | {name: other[name] for name in more}


def _averages(
    averages: dict[Setting, Score], measure: str, criterion: str
) -> dict[str, dict[str, float]]:
    kinds = {"score": _scores.mean_scores, "rank": _scores.mean_ranks}
    return {
        f"{side}{kind}": {m: round(x, 2) for m, x in mean(row).items()}
        for side, row in _sides(_scores.rows(averages, measure, criterion))
        for kind, mean in kinds.items()
    }


def _ranked(averages: dict[Setting, Score], measure: str) -> dict[str, Any]:
    pairs = [p for c in _protocol.CRITERIA for p in _scores.rows(averages, measure, c)]
    return {
        "comparisons": len(pairs),
        **{
            f"{side}{name}": _scores.times_ranked(row, place)
            for side, row in _sides(pairs)
            for name, place in _PLACES.items()
        },
    }


def _sides(pairs: list[tuple]) -> list[tuple[str, list[dict[str, Score]]]]:
    """Return our rows and, as "paper ", the published ones."""
    return [("", [ours for ours, _ in pairs]), ("paper ", [p for _, p in pairs])]
