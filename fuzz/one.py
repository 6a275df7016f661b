"""Fuzz one target, guided by what its bytes make ensclust do.

``python -m fuzz.one csv -max_total_time=60`` does so for a minute; the options are
libFuzzer's. New inputs go to ``fuzz/found``. A file there whose name begins with
``crash``, ``oom`` or ``timeout`` is a bug: fix it and move the file to the corpus.
``tests/files/test_fuzz.py`` replays that. Needs ``make .venv/fuzz``.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

import atheris

# Kernels are compiled by Numba, which cannot read instrumented code.
with atheris.instrument_imports(include=["ensclust"], exclude=["ensclust._kernels"]):
    from ensclust._support import memory
    from fuzz.targets import CORPUS, TARGETS

FOUND = Path(__file__).parent / "found"
OPTIONS = ("-max_len=4096", "-timeout=60", "-rss_limit_mb=4096")


def main() -> None:
    """Fuzz the named target."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"target {name!r} is not supported. Use one of {', '.join(TARGETS)}.")
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    places = [f"-artifact_prefix={found}/", str(found), str(CORPUS / name)]
    atheris.Setup([sys.argv[0], *OPTIONS, *sys.argv[2:], *places], TARGETS[name])
    _spare()
    for seed in (CORPUS / name).glob("good*"):  # imports and compiles, without a limit
        TARGETS[name](seed.read_bytes())
    atheris.Fuzz()


def _spare() -> None:
    """Leave out what takes most of the time and is not fuzzed.

    Available memory is looked up once, and nothing waits for the disk.
    """
    memory.available = cache(memory.available)
    os.fsync = lambda _: None


if __name__ == "__main__":
    main()
