"""The commands: run a sample, write the page."""

import argparse
import sys
from functools import partial

from tests.mutants import page, running
from tests.mutants.changes import ROOMS, Change, sample

SEED, NUMBER = 0, 1500
_PART = 30  # maximum changes of a room that one worker tries


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="try changes without a result")
    run.add_argument("--seed", type=int, default=SEED)
    run.add_argument("--number", type=int, default=NUMBER)
    run.add_argument("--room", choices=ROOMS, action="append")
    run.add_argument(
        "--survivors",
        action="store_true",
        help="try survivors without a reason again",
    )
    run.add_argument(
        "--own",
        action="store_true",
        help="run only tests of the same room; survivors of these get no result yet",
    )
    run.add_argument("--workers", type=int, default=1, help="processes")
    commands.add_parser("report", help="write docs/mutants.md from the results")
    given = parser.parse_args()
    if given.command == "report":
        return page.write(SEED, NUMBER)
    _run(given)
    return 0


def _run(given: argparse.Namespace) -> None:
    """Try changes room by room; results are appended one by one."""
    drawn = sample(given.seed, given.number)
    known = page.results()
    rooms = given.room or ROOMS

    def is_due(one: Change) -> bool:
        record = known.get(one.id)
        if record is None or not given.survivors:
            return record is None and not given.survivors
        return record["outcome"] == running.SURVIVED and not page.why_of(record)

    todo = [one for one in drawn if one.room in rooms and is_due(one)]
    if not todo:
        return
    running.prepare()
    most = page.AGAIN if given.survivors else page.SECONDS
    used = [room for room in rooms if any(one.room == room for one in todo)]
    reach = running.reach(given.workers, most, used if given.own else None)
    by_room = [[one for one in todo if one.room == room] for room in rooms]
    size = min(
        _PART, max(4, len(todo) // (4 * given.workers))
    )  # keeps all workers busy
    parts = [own[i : i + size] for own in by_room for i in range(0, len(own), size)]
    work = partial(_try_all, reach=reach, is_last=not given.own)
    running.together([partial(work, part) for part in parts], given.workers)


def _try_all(part: list[Change], *, reach: running.Reach, is_last: bool) -> None:
    with running.entered(part[0].room):
        for one in part:
            tests = reach.tests(one)
            outcome = running.try_change(one, tests, sum(map(reach.seconds.get, tests)))
            if is_last or outcome != running.SURVIVED:
                page.append(one, outcome)
            print(f"{one.room} {one.id} {outcome}, of {len(tests)} tests: ", end="")
            print(f"{one.path}: {one.before} -> {one.after}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
