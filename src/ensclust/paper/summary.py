"""How close we are to the paper, in numbers and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ensclust.paper import paper, protocol, scores

if TYPE_CHECKING:
    from ensclust.paper.paper import Score
    from ensclust.paper.scores import Cell, Setting


def summarize(averages: dict[Setting, Score]) -> dict[str, Any]:
    """Return counts of cells, the check of ECPCS, averages, ranks and winners."""
    cells = scores.cells(averages)
    groups = [(m, c) for m in protocol.MEASURES for c in protocol.CRITERIA]
    checked = [
        cell
        for cell in cells
        if cell.setting.criterion == "true-k"
        and cell.setting.method in protocol.PROPAGATING
    ]
    return {
        "n_runs": max((score.n_runs for score in averages.values()), default=0),
        "datasets": sorted({cell.setting.dataset for cell in cells}),
        "methods": [
            m for m in protocol.METHODS if any(c.setting.method == m for c in cells)
        ],
        "cells": {f"{m} {c}": _closeness(_of(cells, m, c)) for m, c in groups},
        "off": _off(cells),
        "ecpcs": _check(checked, ("nmi", "ari")),
        "ecpcs with nmi-max": _check(checked, ("nmi-max", "ari")),
        "averages": {f"{m} {c}": _averages(averages, m, c) for m, c in groups},
        "ranked": {m: _ranked(averages, m) for m in protocol.MEASURES},
    }


def as_markdown(summary: dict[str, Any]) -> str:
    """Return the summary to be read."""
    used = ", ".join(f"{name} {n}" for name, n in summary["versions"].items())
    absent = ", ".join(summary["not available"])
    counts = [
        _count(summary["n_runs"], "run"),
        f"{_count(len(summary['datasets']), 'dataset')} "
        f"({', '.join(summary['datasets'])})",
        _count(len(summary["methods"]), "method"),
    ]
    lines = [
        "# Reproduction of the paper's experiments",
        "",
        f"{', '.join(counts)}{'; not available: ' + absent if absent else ''}.",
        "",
        f"    {summary['command']}",
        "",
        *_data_lines(summary["data"]),
        f"Versions: {used}.",
        "",
        "## Cells of Tables II and III beside the published ones",
        "",
        "Distance in published standard deviations (SD).",
        "",
        "| table | cells | within 1 SD | within 2 SD | more than 2 above | below |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {_title(name)} | {c['cells']} | {c['within 1']} | "
        f"{c['within 2']} | {c['above']} | {c['below']} |"
        for name, c in summary["cells"].items()
        if c["cells"]
    ]
    lines += ["", *_far_lines(summary["off"])]
    compared = [*_check_lines(summary), *_average_lines(summary), *_rank_lines(summary)]
    return "\n".join(
        [
            *lines,
            *(compared if summary["datasets"] else []),
            *_time_lines(summary["time"]),
            *_fragment_lines(summary["fragments"]),
        ]
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _data_lines(origins: dict[str, str]) -> list[str]:
    """Return where the data came from, which decides the order of their rows."""
    if not origins:
        return []
    names = {
        where: [name for name in origins if origins[name] == where]
        for where in dict.fromkeys(origins.values())
    }
    found = "; ".join(f"{', '.join(n)} from {where}" for where, n in names.items())
    return [f"Data: {found}.", ""]


def _title(name: str) -> str:
    """Turn "nmi true-k" into "NMI true-k"."""
    measure, criterion = name.split()
    return f"{protocol.TITLES[measure]} {criterion}"


def _far_lines(off: list[dict[str, Any]]) -> list[str]:
    """Return a table of the cells that are far from the published ones."""
    if not off:
        return []
    lines = [
        "Those that are more than 2 SD off by ARI, or by NMI as the paper seems to "
        "have divided it:",
        "",
        "| cell | ours | paper | SD |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {_cell(c)} {c['criterion']} | {c['ours']:.2f} "
        f"| {c['paper']:.2f} ±{c['paper_std']:.2f} | {c['deviations']:+.1f} |"
        for c in off
    ]
    return [*lines, ""]


def _cell(facts: dict[str, Any]) -> str:
    measure = protocol.TITLES[facts["measure"]]
    return f"{facts['dataset']} {facts['method']} {measure}"


def _check_lines(summary: dict[str, Any]) -> list[str]:
    check, other = summary["ecpcs"], summary["ecpcs with nmi-max"]
    lines = [
        "## ECPCS-HC and ECPCS-MC at true-k",
        "",
        f"A cell is inside when it differs from the paper by at most 2 published "
        f"standard deviations or {scores.POINTS:.0f} points, whichever is larger: "
        f"**{check['inside']} of {check['cells']} cells are inside**, "
        f"{len(check['above'])} above, {len(check['below'])} below.",
        "",
        *_off_lines(check),
        "With the mutual information divided by the larger entropy instead of the "
        f"geometric mean, {other['inside']} of {other['cells']} are inside, "
        f"{len(other['above'])} above, {len(other['below'])} below.",
        "",
    ]
    return [*lines, *_off_lines(other)]


def _off_lines(check: dict[str, Any]) -> list[str]:
    """Return a table of the cells that are not inside."""
    off = [*check["above"], *check["below"]]
    if not off:
        return []
    lines = ["| cell | ours | paper | difference |", "|---|---:|---:|---:|"]
    lines += [
        f"| {_cell(c)} | {c['ours']:.2f} | {c['paper']:.2f} ±{c['paper_std']:.2f} "
        f"| {c['difference']:+.2f} |"
        for c in off
    ]
    return [*lines, ""]


def _average_lines(summary: dict[str, Any]) -> list[str]:
    methods = summary["methods"]
    lines = ["## Averages over the datasets", ""]
    lines += ["Ours, and in parentheses the paper's over the same datasets.", ""]
    lines += [f"| | {' | '.join(methods)} |", "|---|" + "---:|" * len(methods)]
    for name, found in summary["averages"].items():
        title = _title(name)
        for kind in ("score", "rank") if found["rank"] else ():
            ours, theirs = found[kind], found[f"paper {kind}"]
            cells = [
                f"{ours[m]:.2f} ({theirs[m]:.2f})" if m in ours else "" for m in methods
            ]
            lines.append(f"| {title}, {kind} | {' | '.join(cells)} |")
    lines.append("")
    for name, found in summary["averages"].items():
        if found["rank"]:
            rank = found["rank"]
            best = sorted(rank, key=rank.__getitem__)[:2]
            word = " and " if len({rank[m] for m in best}) == 1 else ", then "
            lines.append(f"- {_title(name)}: best average rank {word.join(best)}.")
    return [*lines, ""]


def _rank_lines(summary: dict[str, Any]) -> list[str]:
    lines = ["## Times ranked first and in the top three", ""]
    for measure, found in summary["ranked"].items():
        lines += [
            f"{protocol.TITLES[measure]}, {found['comparisons']} comparisons; in "
            "parentheses the paper on the same ones.",
            "",
            "| method | first | top three |",
            "|---|---:|---:|",
        ]
        lines += [
            f"| {m} | {found['first'][m]} ({found['paper first'][m]}) | "
            f"{found['top three'][m]} ({found['paper top three'][m]}) |"
            for m in found["first"]
        ]
        lines.append("")
    return lines


def _time_lines(seconds: dict[str, Any]) -> list[str]:
    """Return our seconds beside the three published ones, and the order."""
    if not seconds:
        return []
    published = paper.facts()["seconds"]
    lines = [
        "## Seconds of the consensus step",
        "",
        f"{protocol.TIME_DATASET}, {seconds['n']:,} objects, one thread, base "
        f"clusterings excluded; the paper's on {paper.facts()['seconds_machine']}.",
        "",
        "| method | ours | paper |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {method} | {s:.2f} | {published.get(method, '')} |"
        for method, s in seconds["seconds"].items()
    ]
    lines += ["", "| the paper's order | holds here |", "|---|---|"]
    lines += [
        f"| {claim} | {'yes' if holds else 'no'} |"
        for claim, holds in seconds["order"].items()
    ]
    return [*lines, ""]


def _fragment_lines(found: dict[str, Any] | None) -> list[str]:
    if not found:
        return []
    published = paper.facts()["fragments"]
    return [
        f"## Fragments of {found['dataset']} (M = {protocol.N_CLUSTERINGS})",
        "",
        "| | ours | paper |",
        "|---|---:|---:|",
        f"| fragments of 1 or 2 objects | {found['small_share']:.2f} % | "
        f"over {published['small_share']:.0f} % |",
        f"| fragments of more than 20 objects | {found['large_share']:.2f} % | "
        f"{published['large_share']} % |",
        f"| objects in those | {found['large_objects']:.2f} % | "
        f"{published['large_objects']} % |",
        "",
    ]


def seconds(times: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the seconds for the most objects and whether the paper's order holds."""
    if not times:
        return {}
    n = max(line["n"] for line in times)
    found = {line["method"]: line["seconds"] for line in times if line["n"] == n}
    found = dict(sorted(found.items(), key=lambda item: item[1]))
    order = {}
    if "ecpcs-mc" in found:
        order["ecpcs-mc is the fastest"] = next(iter(found)) == "ecpcs-mc"
    for slower in ("ptgp", "wct", "srs"):
        if {"ecpcs-hc", slower} <= set(found):
            claim = f"ecpcs-hc is faster than {slower}"
            order[claim] = found["ecpcs-hc"] < found[slower]
    if {"ecpcs-hc", "ecc"} <= set(found):
        ratio = found["ecpcs-hc"] / found["ecc"]
        order["ecpcs-hc takes about as long as ecc (within a factor of 2)"] = (
            0.5 <= ratio <= 2
        )
    return {"n": n, "seconds": found, "order": order}


def _of(cells: list[Cell], measure: str, criterion: str) -> list[Cell]:
    return [
        cell
        for cell in cells
        if (cell.setting.measure, cell.setting.criterion) == (measure, criterion)
    ]


def _closeness(cells: list[Cell]) -> dict[str, int]:
    return {
        "cells": len(cells),
        "within 1": sum(abs(cell.deviations) <= 1 for cell in cells),
        "within 2": sum(abs(cell.deviations) <= 2 for cell in cells),
        "above": sum(cell.deviations > 2 for cell in cells),
        "below": sum(cell.deviations < -2 for cell in cells),
    }


def _check(cells: list[Cell], measures: tuple[str, ...]) -> dict[str, Any]:
    chosen = [cell for cell in cells if cell.setting.measure in measures]
    return {
        "cells": len(chosen),
        "inside": sum(cell.is_inside for cell in chosen),
        "above": _outside(chosen, 1),
        "below": _outside(chosen, -1),
    }


def _outside(cells: list[Cell], sign: int) -> list[dict[str, Any]]:
    return [
        {**_facts(cell), "difference": round(cell.difference, 2)}
        for cell in cells
        if not cell.is_inside and sign * cell.difference > 0
    ]


def _off(cells: list[Cell]) -> list[dict[str, Any]]:
    """Return what is more than 2 deviations off where like is compared with like."""
    far = [c for c in cells if c.setting.measure != "nmi" and abs(c.deviations) > 2]
    far.sort(key=lambda cell: -abs(cell.deviations))
    return [
        {
            **_facts(cell),
            "criterion": cell.setting.criterion,
            "deviations": round(cell.deviations, 2),
        }
        for cell in far
    ]


def _facts(cell: Cell) -> dict[str, Any]:
    return {
        "dataset": cell.setting.dataset,
        "method": cell.setting.method,
        "measure": cell.setting.measure,
        "ours": round(cell.ours.mean, 2),
        "paper": cell.published.mean,
        "paper_std": cell.published.std,
    }


def _averages(
    averages: dict[Setting, Score], measure: str, criterion: str
) -> dict[str, dict[str, float]]:
    pairs = scores.rows(averages, measure, criterion)
    found = {}
    for side, name in enumerate(("", "paper ")):
        row = [pair[side] for pair in pairs]
        found[f"{name}score"] = _rounded(scores.mean_scores(row))
        found[f"{name}rank"] = _rounded(scores.mean_ranks(row))
    return found


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


def _ranked(averages: dict[Setting, Score], measure: str) -> dict[str, Any]:
    pairs = [p for c in protocol.CRITERIA for p in scores.rows(averages, measure, c)]
    found: dict[str, Any] = {"comparisons": len(pairs)}
    for side, name in enumerate(("", "paper ")):
        row = [pair[side] for pair in pairs]
        found[f"{name}first"] = scores.times_ranked(row, 1)
        found[f"{name}top three"] = scores.times_ranked(row, 3)
    return found
