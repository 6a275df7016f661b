"""Peak memory of reading, in a separate process: close to the table itself."""

import subprocess
import sys

import numpy as np
import pytest

MIB = 2**20
PROGRAM = """
import resource, sys
import pandas, pyarrow.parquet  # what reading imports does not count
from ensclust.io import read_features, read_labels

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

kind, small, large = sys.argv[1:]
read = {"labels": read_labels, "features": read_features}[kind]
read(small)
before = peak()
values = read(large).values
print(values.shape[0], values.nbytes, peak() - before)
"""


def save(path, table):
    """Write a table of numbers in the format of the extension."""
    if path.suffix == ".csv":
        np.savetxt(path, table, delimiter=",", fmt="%g")
    elif path.suffix == ".npy":
        np.save(path, table)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {f"c{i}": column for i, column in enumerate(table.T)}
        parquet.write_table(pyarrow.table(columns), path, row_group_size=50_000)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
@pytest.mark.parametrize(
    ("kind", "suffix", "n_rows"),
    [
        ("labels", ".csv", 150_000),
        ("labels", ".npy", 1_000_000),
        ("labels", ".parquet", 1_000_000),
        ("features", ".csv", 150_000),
        ("features", ".npy", 500_000),
        ("features", ".parquet", 500_000),
    ],
)
def test_reading_takes_little_more_than_the_table(tmp_path, kind, suffix, n_rows):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    # int64 labels take 8 bytes in the file, 1 in the table that is read
    draw = rng.random if kind == "features" else lambda size: rng.integers(0, 40, size)
    save(tmp_path / f"small{suffix}", draw((1000, 20)))
    save(tmp_path / f"large{suffix}", draw((n_rows, 20)))
    files = [str(tmp_path / f"{size}{suffix}") for size in ("small", "large")]
    command = [sys.executable, "-c", PROGRAM, kind, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows, size, used = map(int, done.stdout.split())
    assert rows == n_rows
    assert size == n_rows * 20 * (1 if kind == "labels" else 8)
    assert used <= 1.3 * size + 24 * MIB, f"{used / MIB:.0f} for {size / MIB:.0f} MiB"
