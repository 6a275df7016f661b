"""The results of the changes, and the page that shows them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable

from tests.mutants.changes import ROOMS, ROOT, Change, everything, sample
from tests.mutants.reasons import reason

RESULTS = ROOT / "tests" / "mutants" / "results.jsonl"
PAGE = ROOT / "docs" / "mutants.md"
SECONDS, AGAIN = 5.0, 15.0  # of tests for a change, and for one that survives these
GOAL = 85  # percent of each room
OUTCOMES = ("failed", "crashed", "too long", "survived")


def results() -> dict[str, dict]:
    """Return the last result of each change."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {record["id"]: record for record in map(json.loads, lines)}


def append(change: Change, outcome: str) -> None:
    """Save a result."""
    record = {"id": change.id, "room": change.room, "outcome": outcome}
    if outcome == "survived":
        where = f"{change.path.removesuffix('.py')}.{change.where}".strip(".")
        record |= {"where": where, "before": change.before, "after": change.after}
    with RESULTS.open("a") as file:
        file.write(_line(record))


def _line(record: dict) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def write(seed: int, number: int) -> int:
    """Write the page; return 1 if a room is below the goal or not examined."""
    drawn = sample(seed, number)
    sizes = {room: len(found) for room, found in everything().items()}
    known = results()
    tried = [known[one.id] for one in drawn if one.id in known]
    RESULTS.write_text("".join(map(_line, tried)))
    PAGE.write_text(page(tried, sizes, len(drawn), seed))
    low = [room for room, percent in noticed(tried).items() if percent < GOAL]
    print(f"{len(tried)} of {len(drawn)} tried; below {GOAL} % noticed: {low or None}")
    left = [record for record in _survivors(tried) if not why_of(record)]
    for record in left:
        print("not examined:", _row(record))
    return int(bool(left or low or len(tried) < len(drawn)))


def page(tried: list[dict], sizes: dict[str, int], n_drawn: int, seed: int) -> str:
    """Return the results as Markdown."""
    n_left = n_drawn - len(tried)
    values = {"all": sum(sizes.values()), "tried": len(tried), "seed": seed}
    lines = [HEAD.format(**values, seconds=SECONDS, again=AGAIN), *table(tried, sizes)]
    if n_left:
        lines += [
            "",
            f"{n_left:,} of the {n_drawn:,} in the sample have not been tried yet.",
        ]
    grouped: dict[str, list[dict]] = defaultdict(list)
    for record in _survivors(tried):
        grouped[why_of(record) or "Not examined yet"].append(record)
    for why, records in sorted(grouped.items()):
        lines += ["", f"## {why}", "", "| where | line | changed to |"]
        lines += ["| --- | --- | --- |", *map(_row, records)]
    return "\n".join(lines) + "\n"


def _survivors(tried: Iterable[dict]) -> list[dict]:
    return [record for record in tried if record["outcome"] == "survived"]


def why_of(record: dict) -> str | None:
    """Return the reason why a change survived, None if there is none."""
    return reason(record["where"], record["before"], record["after"])


def counts(tried: Iterable[dict]) -> dict[str, Counter]:
    """Return how often each outcome occurred, for each room and in total."""
    found: dict[str, Counter] = {room: Counter() for room in (*ROOMS, "all")}
    for record in tried:
        found[record["room"]][record["outcome"]] += 1
        found["all"][record["outcome"]] += 1
    return {room: own for room, own in found.items() if own}


def noticed(tried: Iterable[dict]) -> dict[str, float]:
    """Return the percentage of changes that some test noticed."""
    return {
        room: 100 * (1 - own["survived"] / own.total())
        for room, own in counts(tried).items()
    }


def table(tried: list[dict], sizes: dict[str, int]) -> list[str]:
    """Return lines of Markdown: changes by room, and their outcomes."""
    lines = [
        "| room | possible | tried | failed a test | crashed | took too long "
        "| survived | noticed |",
        "| --- |" + " ---: |" * 7,
    ]
    percents = noticed(tried)
    for room, own in counts(tried).items():
        cells = [sizes.get(room, sum(sizes.values())), own.total()]
        cells += [own[outcome] for outcome in OUTCOMES]
        shown = " | ".join(f"{cell:,}" for cell in cells)
        lines.append(f"| {room} | {shown} | {percents[room]:.1f} % |")
    return lines


def _row(record: dict) -> str:
    cells = (record[key].replace("|", "\\|") for key in ("where", "before", "after"))
    shown = (f"`{cell}`" if cell else "(nothing)" for cell in cells)
    return "| " + " | ".join(shown) + " |"


HEAD = """# Mutation testing

`python -m tests.mutants run` changes the source code in one place at a time and runs
the tests that reach this place. A change that no test notices is a gap in the tests, or
makes no difference that a user could see. The changes are: another comparison,
arithmetic operator, `and`, `or` or `not`; another number, boolean or string; an
argument dropped or replaced by `None`; a condition that is always or never true; `None`
returned; a statement left out. Messages, documentation, annotations and `repr` are not
changed.

The package without its views and `ensclust.paper` has {all:,} possible changes.
{tried:,} of them were tried: a random sample (seed {seed}) with at least 80 from each
room, more from larger rooms; `modules` are the modules outside of any folder. **The
others were not tried.** `make mutants` tries the sample and writes this page. Results
are kept in `tests/mutants/results.jsonl`, and what is there is not tried again; delete
the file to repeat everything. Tests that start programs or take seconds are not run. Of
the others, each change gets about {seconds:.0f} seconds' worth, and each survivor about
{again:.0f}, so the whole suite may notice more.

The survivors are listed below, by the reason why no test can or need notice them. Where
a test was missing, it has been added and the change tried again. All of them count as
survivors in the table.
"""
