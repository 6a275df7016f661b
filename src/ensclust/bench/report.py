"""Run what is asked for, then write results, tables, figures and the summary."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ensclust import datasets
from ensclust._validation import import_optional
from ensclust.bench import (
    experiments,
    figures,
    protocol,
    records,
    runner,
    scores,
    summary,
    tables,
)
from ensclust.bench.plan import plan
from ensclust.bench.store import write
from ensclust.bench.work import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust.bench.plan import Selection
    from ensclust.bench.store import Store


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
    is_drawn = _can_draw()
    missing = unavailable(store, selection.datasets)
    failures: list[str] = []
    if not report_only:
        at_hand = tuple(n for n in selection.datasets if n not in missing)
        for name in at_hand if selection.needs else ():
            store.settle(name)
        units = plan(store, replace(selection, datasets=at_hand))
        failures += runner.run(store, units, n_jobs=n_jobs, quiet=quiet)
        if "time" in selection.needs and protocol.TIME_DATASET in at_hand:
            methods = selection.methods
            failures += experiments.time_consensus(store, methods, quiet=quiet)
        if "fragments" in selection.needs and protocol.FRAGMENT_DATASET in at_hand:
            found = experiments.fragments(store)
            _write_json(store, "fragments.json", found)
    found = report(store, missing, command)
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


def report(store: Store, missing: dict[str, str], command: str) -> dict[str, Any]:
    """Write the tables that the results at hand allow; return what figures need."""
    results = records.collect(store)
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
    records.write_lines(store.root / "time.jsonl.gz", times)
    path = store.root / "fragments.json"
    fragments = json.loads(path.read_text()) if path.exists() else None
    found |= {"time": summary.seconds(times), "fragments": fragments}
    found |= {"command": command, "versions": versions()}
    found |= {"data": store.origins(), "not available": sorted(missing)}
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


def _write_json(store: Store, name: str, value: Any) -> None:
    write(store.root / name, json.dumps(value, indent=1) + "\n")
