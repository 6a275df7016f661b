"""Run the requested experiments, then write results, tables, figures and summary."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from ensclust import datasets
from ensclust._support.json_files import read_json, write_json
from ensclust._support.validation import import_optional
from ensclust._support.whole_files import write
from ensclust.paper import (
    _beside,
    _experiments,
    _figures,
    _plan,
    _protocol,
    _records,
    _runner,
    _scores,
    _summary,
    _tables,
    _work,
)
from ensclust.paper._plan import Selection, Unit
from ensclust.paper._store import Store

_USED_BY = {"time": _protocol.TIME_DATASET, "fragments": _protocol.FRAGMENT_DATASET}
_FILES = {  # of the comparison and of the step lengths
    "nmi": ("table2", "table4"),
    "ari": ("table3", "table5"),
    "nmi-max": ("table2-max", "table4-max"),
}


def produce(
    store: Store,
    selection: Selection,
    command: str,
    *,
    n_jobs: int | None = None,
    report_only: bool = False,
    quiet: bool = False,
) -> list[str]:
    """Run the experiments and write the report; return failures."""
    is_drawn = bool(selection.needs) and _can_draw()
    missing = unavailable(store, selection.datasets)
    failures: list[str] = []
    if not report_only:
        at_hand = tuple(n for n in selection.datasets if n not in missing)
        units = _plan.plan(store, replace(selection, datasets=at_hand))
        used = {
            *(unit.dataset for unit in units),
            *(_USED_BY[need] for need in selection.needs & _USED_BY.keys()),
            *store.origins(),  # even if nothing is left to do
        }
        for name in sorted(used.intersection(at_hand)):
            store.settle(name)
        failures += run_units(store, units, n_jobs=n_jobs, quiet=quiet)
        if "time" in selection.needs and _protocol.TIME_DATASET in at_hand:
            failures += _experiments.time_consensus(
                store, selection.methods, quiet=quiet
            )
        if "fragments" in selection.needs and _protocol.FRAGMENT_DATASET in at_hand:
            write_json(
                store.root / "fragments.json", _experiments.fragments(store), indent=1
            )
    found = report(store, missing, None if report_only else command)
    if is_drawn:
        _draw(store, found)
    return failures


def run_units(
    store: Store, units: list[Unit], *, n_jobs: int | None = 1, quiet: bool = False
) -> list[str]:
    """Run units of work in processes of one thread each; return failures."""
    done = _runner.run(
        units,
        partial(_work.do, store),
        title="reproducing",
        cost=attrgetter("cost"),
        n_jobs=n_jobs,
        quiet=quiet,
    )
    return [failure for _, failed in done for failure in failed]


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
    """Write the tables that the existing results allow; return what figures need.

    Without a command, the last one that produced results is shown.
    """
    results = _records.collect(store)
    here = {line["dataset"] for line in results}
    missing = {name: why for name, why in missing.items() if name not in here}
    averages, times = _scores.average(results), _experiments.times(store)
    made = {"table1": _tables.dataset_table(missing)}
    for measure, (compared, by_steps) in _FILES.items() if averages else ():
        made[compared] = _tables.compare_table(averages, measure, missing)
        made[by_steps] = _tables.steps_table(averages, measure, missing)
    for name, table in made.items():
        if table.rows:
            write(store.root / f"{name}.md", table.as_markdown())
            write(store.root / f"{name}.html", table.as_html())
    _beside.write_comparison(store)
    path = store.root / "summary.json"
    before = {"data": {}, "command": "?", **read_json(path, {})}
    found = {
        **_summary.summarize(averages),
        "time": _summary.seconds(times),
        "fragments": read_json(store.root / "fragments.json"),
        "command": command or before["command"],
        "versions": _versions(results),
        "data": {**before["data"], **store.origins()},
        "not available": sorted(missing),
    }
    write_json(path, found, indent=1)
    write(store.root / "summary.md", _summary.as_markdown(found))
    return {**found, "results": results, "times": times}


def _can_draw() -> bool:
    """Whether figures can be drawn; warn early, before hours of work."""
    try:
        import_optional("matplotlib", "drawing figures", "plot")
    except ImportError as error:
        warnings.warn(f"no figures: {error}", stacklevel=2)
        return False
    return True


def _draw(store: Store, found: dict[str, Any]) -> None:
    if found["results"]:
        averages = _scores.average(_scores.shared_runs(found["results"]))
        _figures.draw_ranks(found["ranked"], store.root)
        _figures.draw_sizes(averages, store.root)
    if found["times"]:
        _figures.draw_times(found["times"], store.root)
    if found["fragments"]:
        _figures.draw_fragments(found["fragments"], store.root)


def _versions(results: list[dict[str, Any]]) -> dict[str, str]:
    """Return the versions that produced the results, or else the installed ones."""
    lines = [line["versions"] for line in results] or [_work.versions()]
    return {
        name: " and ".join(dict.fromkeys(line[name] for line in lines))
        for name in _work.versions()
    }
