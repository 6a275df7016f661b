"""Write the seeds: small valid files of each kind, and some that are nearly valid."""

from __future__ import annotations

import io

import numpy as np
import pyarrow
from pyarrow import parquet
from scipy.io import savemat

from fuzz.targets import CORPUS

LABELS = np.array([[0, 1], [0, 0], [1, -1]], np.int8)
EDITS = {"far": b"\4\0\x15", "below": b"\0\0\x17", "short": b"\6\1\0"}  # fuzz.edits
TEXTS = {
    "labels": "a,b\n1,x\n2,y\n1,NA\n",
    "features": "p;q\n0.5;1e3\n-2;.5\n",
    "quoted": '"a ""b""","c\nd"\n1,"2"\n3,4\n',
    "index": ",0,1\n0,1,2\n1,3,4\n",
    "spaces": "1 2 3\n4 5 6\n",
    "mark": "\ufeffa\tb\n1\t2\n",
    "ragged": "a,b\n1,2,3\n",
    "numbers": "a\n1e400\n1_000\n0x1\n99999999999999999999\n",
    "blank": "\n\na\n\n1\n",
}


def main() -> None:
    """Write all seeds."""
    for name, text in TEXTS.items():
        _write("csv", name, text.encode())
    arrays = {
        "labels": LABELS,
        "features": LABELS / 2,
        "texts": np.array([["a"], ["b"]]),
        "vector": LABELS[:, 0],
        "cube": np.zeros((1, 1, 1)),
        "records": np.zeros(2, [("a", "<i4")]),
    }
    for name, array in arrays.items():
        handle = io.BytesIO()
        np.save(handle, array)
        _write("npy", name, handle.getvalue())
    archives = {
        "one": {"labels": LABELS},
        "ids": {"object": np.array(["x", "y", "z"]), "cluster": LABELS[:, 0]},
        "uneven": {"a": LABELS, "b": LABELS[:1]},
    }
    for name, columns in archives.items():
        handle = io.BytesIO()
        np.savez_compressed(handle, **columns)
        _write("npz", name, handle.getvalue())
    for name, options in {
        "four": {"format": "4"},
        "five": {},
        "packed": {"do_compression": True},
    }.items():
        handle = io.BytesIO()
        savemat(
            handle, {"members": LABELS.astype(float), "gt": [[1], [1], [2]]}, **options
        )
        _write("mat", name, handle.getvalue())
    tables = {
        "labels": {"a": [1, 2, 1], "b": ["x", None, "y"]},
        "nested": {"a": [[1], [2]], "b": [{"c": 1}, {"c": 2}]},
        "numbers": {"a": [0.5, 1.0], "b": [True, False]},
    }
    for name, columns in tables.items():
        handle = io.BytesIO()
        table = pyarrow.table(columns)
        parquet.write_table(table, handle, write_statistics=False, store_schema=False)
        _write("parquet", name, handle.getvalue())
    for target in ("h5ad", "merges", "counts"):
        for i in range(9):  # one edit, of another array each
            name, edit = list(EDITS.items())[i % len(EDITS)]
            start = b"" if target == "merges" else bytes([i])  # what is read
            _write(target, f"{name}{i}", start + bytes([i]) + edit)
    for i in range(6):
        _write("h5ad", f"good{i}", bytes([i]))
    _write("h5ad", "columns", b"\xff\1\0\0\2")
    _write("merges", "good", b"")
    for i in range(2):
        _write("counts", f"good{i}", bytes([i]))
    for width in (1, 2, 5):
        _write("ensemble", f"width{width}", bytes([width - 1, 0, *range(40)]))
        _write("ensemble", f"noise{width}", bytes([width - 1, 1, *([0, 1, 6] * 5)]))


def _write(target: str, name: str, content: bytes) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
