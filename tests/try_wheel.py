"""Try the built wheel as a user gets it: ``python -m tests.try_wheel dist``.

Installs it, without any extra, into a fresh environment in a temporary directory, and
runs ``test_smoke.py`` there, without the source tree.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SUITE = ("test_smoke.py", "record_hashes.py", "label_hashes.json")
MOST_BYTES = 2_000_000


def try_wheel(wheel):
    """Install a wheel and run the suite; raise if anything fails."""
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(
            f"{wheel.name} has {wheel.stat().st_size:,} bytes, above {MOST_BYTES:,}"
        )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "venv", with_pip=True)
        python = home / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        suite = home / "suite"
        suite.mkdir()
        for name in SUITE:
            shutil.copy(TESTS / name, suite)
        for command in (
            ["-m", "pip", "install", "--quiet", str(wheel.resolve()), "pytest"],
            ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "."],
        ):
            settings = {**clean, "ENSCLUST_PREFIX": str(home / "venv")}
            subprocess.run([python, *command], cwd=suite, env=settings, check=True)


if __name__ == "__main__":
    [found] = Path(sys.argv[1]).glob("*.whl")
    try_wheel(found)
    print(f"{found.name}: {found.stat().st_size / 1e6:.2f} MB, installed and tried")
