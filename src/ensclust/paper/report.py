"""Run what is asked for, then write results, tables, figures and the summary."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ensclust import datasets
from ensclust._support.validation import import_optional
from ensclust.paper import (
    experiments,
    figures,
    protocol,
    records,
    runner,
    scores,
    summary,
    tables,
)
from ensclust.paper.plan import plan
from ensclust.paper.store import write
from ensclust.paper.work import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust.paper.plan import Selection
    from ensclust.paper.store import Store


_USED_BY = {"time": protocol.TIME_DATASET, "fragments": protocol.FRAGMENT_DATASET}


def produce(
    store: Store,
    selection: Selection,
    command: str,
    *,
    n_jobs: int | None = None,
    report_only: bool = False,
    quiet: bool = False,
) -> list[str]:
    """Do the experiments and write the report; return what went wrong."""
    is_drawn = bool(selection.needs) and _can_draw()
    missing = unavailable(store, selection.datasets)
    failures: list[str] = []
    if not report_only:
        at_hand = tuple(n for n in selection.datasets if n not in missing)
        units = plan(store, replace(selection, datasets=at_hand))
        used = {unit.dataset for unit in units}
        used |= {_USED_BY[need] for need in selection.needs & _USED_BY.keys()}
        used |= store.origins().keys()  # also where nothing is left to do
        for name in sorted(used.intersection(at_hand)):
            store.settle(name)
        failures += runner.run(store, units, n_jobs=n_jobs, quiet=quiet)
        if "time" in selection.needs and protocol.TIME_DATASET in at_hand:
            methods = selection.methods
            failures += experiments.time_consensus(store, methods, quiet=quiet)
        if "fragments" in selection.needs and protocol.FRAGMENT_DATASET in at_hand:
            found = experiments.fragments(store)
            _write_json(store, "fragments.json", found)
    found = report(store, missing, None if report_only else command)
    if is_drawn:
        _draw(store, found)
    return failures


def unavailable(store: Store, names: Sequence[str]) -> dict[str, str]:
    """Return the datasets that no source has, with the reason."""
    reasons = {}
    for name in names:
        try:
            datasets.load(name, data_home=store.data_home)
        except datasets.DatasetUnavailable as error:
            reasons[name] = str(error)
    return reasons


def report(
    store: Store, missing: dict[str, str], command: str | None
) -> dict[str, Any]:
    """Write the tables that the results at hand allow; return what figures need.

    Without a command, the last one that made results is told.
    """
    results = records.collect(store)
    here = {line["dataset"] for line in results}
    missing = {name: why for name, why in missing.items() if name not in here}
    averages = scores.average(results)
    _write_table(store, "table1", tables.dataset_table(missing))
    if averages:
        for name, make, measure in (
            ("table2", tables.compare_table, "nmi"),
            ("table3", tables.compare_table, "ari"),
            ("table4", tables.steps_table, "nmi"),
            ("table5", tables.steps_table, "ari"),
            ("table2-max", tables.compare_table, "nmi-max"),
            ("table4-max", tables.steps_table, "nmi-max"),
        ):
            _write_table(store, name, make(averages, measure, missing))
    found = summary.summarize(averages)
    times = experiments.times(store)
    before = {"data": {}, "command": "?", **(_read_json(store, "summary.json") or {})}
    fragments = _read_json(store, "fragments.json")
    found |= {"time": summary.seconds(times), "fragments": fragments}
    found |= {"command": command or before["command"], "versions": _versions(results)}
    found |= {"data": {**before["data"], **store.origins()}}
    found |= {"not available": sorted(missing)}
    _write_json(store, "summary.json", found)
    write(store.root / "summary.md", summary.as_markdown(found))
    return {**found, "results": results, "times": times}


def _can_draw() -> bool:
    """Whether figures can be drawn; say so before hours go by."""
    try:
        import_optional("matplotlib", "drawing figures", "plot")
    except ImportError as error:
        warnings.warn(f"no figures: {error}", stacklevel=2)
        return False
    return True


def _draw(store: Store, found: dict[str, Any]) -> None:
    if found["results"]:
        averages = scores.average(scores.shared_runs(found["results"]))
        figures.draw_ranks(found["ranked"], store.root)
        figures.draw_sizes(averages, store.root)
    if found["times"]:
        figures.draw_times(found["times"], store.root)
    if found["fragments"]:
        figures.draw_fragments(found["fragments"], store.root)


def _write_table(store: Store, name: str, table: tables.Table) -> None:
    if table.rows:
        write(store.root / f"{name}.md", table.as_markdown())
        write(store.root / f"{name}.html", table.as_html())


def _versions(results: list[dict[str, Any]]) -> dict[str, str]:
    """Return the versions that results were made with, or else those at hand."""
    lines = [line["versions"] for line in results] or [versions()]
    return {
        name: " and ".join(dict.fromkeys(line[name] for line in lines))
        for name in versions()
    }


def _read_json(store: Store, name: str) -> Any:
    path = store.root / name
    return json.loads(path.read_text()) if path.exists() else None


def _write_json(store: Store, name: str, value: Any) -> None:
    write(store.root / name, json.dumps(value, indent=1) + "\n")
