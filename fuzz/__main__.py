"""Fuzz a target, guided by what its bytes make ensclust do.

``python -m fuzz csv -max_total_time=60`` runs one of the targets for a minute; the
options are libFuzzer's. What is new goes to ``fuzz/found``. A file there that begins
with ``crash``, ``oom`` or ``timeout`` is a bug: mend it and put the file into the
corpus, which ``tests/files/test_fuzz.py`` replays. Needs ``make .venv/fuzz``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

# Kernels are compiled by Numba, which cannot read instrumented code.
with atheris.instrument_imports(include=["ensclust"], exclude=["ensclust._kernels"]):
    from fuzz.targets import CORPUS, TARGETS

FOUND = Path(__file__).parent / "found"


def main() -> None:
    """Run the target that is named."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"target {name!r} is not known. Use one of {', '.join(TARGETS)}.")
    found = FOUND / name
    found.mkdir(parents=True, exist_ok=True)
    options = ["-max_len=4096", "-timeout=20", "-rss_limit_mb=4096"]
    places = [f"-artifact_prefix={found}/", str(found), str(CORPUS / name)]
    atheris.Setup([sys.argv[0], *options, *sys.argv[2:], *places], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
