"""Available memory, and refusing work that needs more before it starts."""

from collections.abc import Iterator
from pathlib import Path

from ensclust._support.validation import gibibytes

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")  # limits of containers
# Limit, usage and its reclaimable part, in control groups version 2 and 1.
_FILES = {
    2: ("memory.max", "memory.current", "inactive_file"),
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def available() -> int | None:
    """Return the bytes that can still be allocated, None if unknown.

    On Linux: free memory, reclaimable file caches and swap, within the limits of all
    containers of the process. On other systems, what psutil reports.
    """
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        kilobytes = {words[0]: int(words[1]) for words in map(str.split, lines)}
        left = 1024 * (kilobytes["MemAvailable:"] + kilobytes["SwapFree:"])
    except (OSError, KeyError):
        return _told_by_psutil()
    limits = (_left(version, group) for version, group in _groups())
    return min([left, *(limit for limit in limits if limit is not None)])


def require(needed: float, what: str, remedy: str) -> None:
    """Raise MemoryError if ``needed`` bytes for ``what`` are not available.

    Parameters
    ----------
    needed : float
        Bytes, at least.
    what : str
        What needs them, as the beginning of a sentence.
    remedy : str
        What to do instead, as a sentence.
    """
    left = available()
    if left is not None and needed > left:
        msg = (
            f"{what} needs {gibibytes(needed)} of memory; {gibibytes(left)} are "
            f"available. {remedy}"
        )
        raise MemoryError(msg)


def _told_by_psutil() -> int | None:
    try:
        import psutil  # noqa: PLC0415  not needed on Linux
    except ImportError:
        return None
    return psutil.virtual_memory().available + psutil.swap_memory().free


def _groups() -> Iterator[tuple[int, Path]]:
    """Yield the control groups of the process and their parents.

    A container may see its own group as the outermost one, whatever its name outside,
    so names that do not exist are skipped.
    """
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = _GROUPS / "memory" if controllers else _GROUPS
        group = top / name.strip("/")
        for place in (group, *group.parents):
            if place.is_relative_to(top):
                yield 1 if controllers else 2, place


def _left(version: int, group: Path) -> int | None:
    """Return what the limit of a group leaves, None if it has no limit."""
    limit_file, use_file, cached_key = _FILES[version]
    try:
        limit = (group / limit_file).read_text().strip()
        used = int((group / use_file).read_text())
        lines = (group / "memory.stat").read_text().splitlines()
        cached = int(dict(map(str.split, lines))[cached_key])
        return None if limit == "max" else int(limit) - used + cached
    except (OSError, KeyError, ValueError):
        return None
