"""Compressed CSV is read like plain CSV, and zip bombs do no harm."""

import gzip
import sys

import numpy as np
import pytest

from ensclust._files import text
from ensclust._support import memory
from ensclust.io import check_output, read_features, read_labels


def packed(path, content):
    """Write bytes, packed as the name of the file says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        path.write_bytes(pyarrow.compress(content, "zstd", asbytes=True))
    return path


either = pytest.mark.parametrize("suffix", [".gz", ".zst"])


@either
@pytest.mark.parametrize("name", ["runs.csv", "runs.tsv", "runs.CSV", "runs"])
def test_a_packed_table_is_read(tmp_path, suffix, name):
    rows = "".join(f"c{i}\t{i % 3}\t{i % 2}\n" for i in range(6000))
    path = packed(tmp_path / f"{name}{suffix}", f"object\ta\tb\n{rows}".encode())
    table = read_labels(path)
    assert (table.columns, table.ids[-1]) == (("a", "b"), "c5999")
    assert (table.values == np.c_[np.arange(6000) % 3, np.arange(6000) % 2]).all()


@either
def test_parts_one_after_the_other_are_one_table(tmp_path, suffix):
    parts = [packed(tmp_path / f"p{i}{suffix}", b"%d,2\n" % i) for i in range(3)]
    whole = tmp_path / f"X.csv{suffix}"
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    assert read_features(whole).values[:, 0].tolist() == [0, 1, 2]


@either
@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda _: b"a,b\n1,2\n"])
def test_a_damaged_file_is_named(tmp_path, suffix, damage):
    content = "".join(f"{i},{i * i}\n" for i in range(5000)).encode()
    path = packed(tmp_path / f"X.csv{suffix}", content)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=r"X.csv.* cannot be decompressed"):
        read_features(path)


def test_other_formats_are_not_unpacked(tmp_path):
    (tmp_path / "X.npy.gz").touch()
    with pytest.raises(ValueError, match=r"ends in '.npy.gz'. Use one of .*csv.gz"):
        read_features(tmp_path / "X.npy.gz")
    with pytest.raises(ValueError, match=r"ends in '.gz'. Use one of .csv"):
        check_output(tmp_path / "labels.csv.gz")


def test_zst_without_pyarrow_gives_the_install_line(tmp_path, monkeypatch):
    (tmp_path / "X.csv.zst").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'X.csv.zst needs pyarrow.*"ensclust\[parq'):
        read_features(tmp_path / "X.csv.zst")


@either
def test_a_line_without_end_is_refused_before_it_fills_memory(
    tmp_path, suffix, monkeypatch
):
    monkeypatch.setattr(text, "_LONGEST", 2**22)
    path = packed(tmp_path / f"bomb.csv{suffix}", b"0" * 2**24)
    assert path.stat().st_size < 2**15
    with pytest.raises(ValueError, match=r"bomb.csv.* line of more than 4,194,304 byt"):
        read_features(path)


@either
@pytest.mark.parametrize("read", [read_features, read_labels])
def test_rows_without_end_are_refused_before_they_fill_memory(
    tmp_path, suffix, read, monkeypatch
):
    monkeypatch.setattr(memory, "available", lambda: 2**16)
    path = packed(tmp_path / f"bomb.csv{suffix}", b"1,2\n" * 2**20)
    assert path.stat().st_size < 2**15
    with pytest.raises(MemoryError, match=r"table of .*bomb.csv.*Read it in block"):
        read(path)
