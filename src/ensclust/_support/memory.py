"""Memory: how much is left, and refusing what needs more before it is begun."""

from pathlib import Path

from ensclust._support.validation import gibibytes

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")  # the limits of a container


def available() -> int | None:
    """Return the bytes that can still be taken, None where nobody tells.

    On Linux: free memory, what is taken back from caches of files, and swap; within the
    limit of a container.
    """
    try:
        lines = (line.split() for line in _MEMINFO.read_text().splitlines())
        kilobytes = {words[0]: int(words[1]) for words in lines}
        left = 1024 * (kilobytes["MemAvailable:"] + kilobytes["SwapFree:"])
    except (OSError, KeyError):
        return None
    in_group = _left_in_group()
    return left if in_group is None else min(left, in_group)


def require(needed: float, what: str, remedy: str) -> None:
    """Raise a MemoryError if ``needed`` bytes for ``what`` are not to be had.

    Parameters
    ----------
    needed : float
        Bytes, at least.
    what : str
        What takes them, to begin a sentence with.
    remedy : str
        What to do instead, a sentence.
    """
    left = available()
    if left is not None and needed > left:
        msg = (
            f"{what} needs {gibibytes(needed)} of memory; {gibibytes(left)} are "
            f"available. {remedy}"
        )
        raise MemoryError(msg)


def _left_in_group() -> int | None:
    """Return what the limit of a container leaves, None without a limit."""
    try:
        limit = (_GROUP / "memory.max").read_text().strip()
        used = int((_GROUP / "memory.current").read_text())
        stat = dict(map(str.split, (_GROUP / "memory.stat").read_text().splitlines()))
        cached = int(stat["inactive_file"])  # by files, given up on demand
        return None if limit == "max" else int(limit) - used + cached
    except (OSError, KeyError, ValueError):
        return None
