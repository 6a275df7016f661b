"""Consensus of more labels than a worker can hold, from Parquet files, with Dask.

``python -m benchmarks.scale`` generates the files, reads and counts them in plain
NumPy, and runs ECPCS-MC on them with one and with two workers of 1 GB each. Every run
is a line of benchmarks/results/scale/measurements.jsonl; the report is written next to
it and into the marked part of docs/scale.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import tempfile
import time
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.report import fill
from ensclust._support.json_files import read_lines, write_lines
from ensclust._support.whole_files import write
from ensclust.paper._layout import grid

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "scale"
PAGE = ROOT / "docs" / "scale.md"
N_CLUSTERS, N_CLUSTERINGS = 26, 20
FILES = 16  # of each size; a quarter of them is the smallest size
MEMORY = "1GB"  # of each worker
PACKAGES = ("ensclust", "numpy", "numba", "pyarrow", "dask", "distributed")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--folder", type=Path, help="for the files; default: temporary")
    parser.add_argument("--only-report", action="store_true")
    options = parser.parse_args()
    path = options.out / "measurements.jsonl"
    if not options.only_report:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            lines = measure(int(options.rows), Path(folder), options.repeats)
        write_lines(path, lines)
    text = report(read_lines(path))
    write(options.out / "report.md", f"# Scale\n\n{text}")
    if options.out == RESULTS:
        fill(PAGE, "python -m benchmarks.scale", text)
    print(text)


def measure(n: int, folder: Path, repeats: int) -> list[dict]:
    """Return a line for each run."""
    sizes = {n * part // FILES: part for part in (FILES // 4, FILES // 2, FILES)}
    make(n, folder / "all")
    for rows, part in sizes.items():
        (folder / str(rows)).mkdir()
        for i in range(part):
            os.link(folder / "all" / name(i), folder / str(rows) / name(i))
    about = {
        "command": f"python -m benchmarks.scale --rows {n:.3g}",
        "versions": {package: version(package) for package in PACKAGES},
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "disk_mb": sum(f.stat().st_size for f in (folder / "all").iterdir()) / 1e6,
    }
    lines = []
    for repeat in range(repeats):
        jobs = [("numpy", n, 0), *(("dask", rows, 2) for rows in sizes), ("dask", n, 1)]
        for side, rows, workers in jobs:
            load = os.getloadavg()[0]
            source = folder / str(rows)
            found = plain(source) if side == "numpy" else run(source, workers, folder)
            line = {"side": side, "rows": rows, "workers": workers, "repeat": repeat}
            lines.append({**line, **found, "load": load, **about})
            print(json.dumps({k: v for k, v in lines[-1].items() if k not in about}))
    return lines


def name(i: int) -> str:
    return f"part-{i:03d}.parquet"


def make(n: int, folder: Path) -> None:
    """Write noisy refinements of one partition, int32, a file at a time."""
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    ks = np.random.default_rng(0).integers(N_CLUSTERS, 101, N_CLUSTERINGS)
    for i in range(FILES):
        rng = np.random.default_rng((1, i))
        size = n * (i + 1) // FILES - n * i // FILES
        truth = rng.integers(0, N_CLUSTERS, size, np.int32)
        columns = {}
        for m, k in enumerate(ks):
            parts = -(-k // N_CLUSTERS)
            column = truth * parts + rng.integers(0, parts, size, np.int32)
            moved = rng.integers(0, 10, size, np.uint8) == 0
            column[moved] = rng.integers(0, k, int(moved.sum()), np.int32)
            columns[f"c{m}"] = (column % k).astype(np.int32)
        parquet.write_table(
            pyarrow.table(columns), folder / name(i), row_group_size=2**18
        )


def plain(folder: Path) -> dict:
    """Read the files and count every pair of columns with NumPy, in one process."""
    from pyarrow import parquet

    files = sorted(folder.iterdir())
    start = time.perf_counter()
    for file in files:
        [column.to_numpy() for column in parquet.read_table(file).columns]
    read = time.perf_counter() - start
    start = time.perf_counter()
    total: dict = {}
    for file in files:
        columns = [column.to_numpy() for column in parquet.read_table(file).columns]
        for m, left in enumerate(columns):
            for q in range(m):
                cells = np.bincount(left * 101 + columns[q], minlength=101 * 101)
                total[m, q] = total.get((m, q), 0) + cells
    return {"read": read, "read_and_count": time.perf_counter() - start}


def run(folder: Path, workers: int, scratch: Path) -> dict:
    """Count, solve and vote with a LocalCluster; return seconds and memory of each."""
    from distributed import Client, LocalCluster

    from ensclust import Blocks, consensus
    from ensclust._stream.counting import Encoding, checkpoint_of, tally

    kept, output = scratch / "kept", scratch / "labels.npy"
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=MEMORY,
                     dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        warm = Blocks(
            np.tile(np.arange(4000)[:, None] % 7, (2 * workers, 3)), rows=4000
        )
        warm.engine = "dask"
        consensus(warm, 3, random_state=0).write(scratch / "warm.npy")
        client.run(_reset)
        blocks = Blocks(folder, engine="dask")
        checkpoint = checkpoint_of(blocks, kept)
        start = time.perf_counter()
        known = tally(blocks, Encoding(), checkpoint=checkpoint)
        counted = time.perf_counter()
        sent = sum(client.run(_sent).values())
        stream = consensus(blocks, N_CLUSTERS, random_state=0, checkpoint=kept)
        solved = time.perf_counter()
        stream.write(output)
        voted = time.perf_counter()
        peaks = client.run(_peak)
    digest = zlib.crc32(np.load(output, mmap_mode="r"))
    shutil.rmtree(kept)
    return {
        "count": counted - start,
        "solve": solved - counted,
        "vote": voted - solved,
        "blocks": len(blocks),
        "base_clusters": known.n_base_clusters,
        "sent_mb": sent / 1e6,
        "peak_mb": max(peaks.values()) / 1e6,
        "digest": digest,
    }


def _reset(dask_worker) -> None:
    dask_worker.sent_before = dask_worker.transfer_outgoing_bytes_total


def _sent(dask_worker) -> int:
    return dask_worker.transfer_outgoing_bytes_total - dask_worker.sent_before


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(lines: list[dict]) -> str:
    """Return tables and targets, as Markdown."""
    first = lines[0]
    n, nc = max(x["rows"] for x in lines), lines[-1]["base_clusters"]

    def seconds(key: str, rows: int = n, workers: int = 2) -> float:
        side = "numpy" if key.startswith("read") else "dask"
        chosen = [x for x in lines if x["side"] == side and x["rows"] == rows]
        chosen = [x for x in chosen if side == "numpy" or x["workers"] == workers]
        return float(np.median([x[key] for x in chosen]))

    plain_time = seconds("read_and_count")
    rows = [("rows", "workers", "count", "solve", "vote", "peak of a worker", "sent")]
    runs = {(x["rows"], x["workers"]): x for x in lines if x["side"] == "dask"}
    for (size, workers), x in sorted(runs.items()):
        times = [
            f"{seconds(s, size, workers):.1f} s" for s in ("count", "solve", "vote")
        ]
        rows.append((f"{size:,}", str(workers), *times, f"{x['peak_mb']:,.0f} MB",
                     f"{x['sent_mb']:,.0f} MB"))  # fmt: skip

    def both(workers: int, rows: int = n) -> float:
        return seconds("count", rows, workers) + seconds("vote", rows, workers)

    least = min(x["rows"] for x in lines)
    linear = both(2) / both(2, least) / (n / least)
    bars = [("ratio", "measured", "target")]
    for stage in ("count", "vote"):
        ratio = seconds(stage, workers=1) / plain_time
        words = f"{stage} with 1 worker to reading and counting in NumPy"
        bars.append((words, f"{ratio:.2f}", "at most 2"))
    bars.append(("counts and votes, 1 worker to 2", f"{both(1) / both(2):.2f}",
                 "at least 1.6"))  # fmt: skip
    bars.append((f"time per row, {n:,} to {least:,}", f"{linear:.2f}", "about 1"))
    same = len({x["digest"] for x in lines if x["rows"] == n and "digest" in x}) == 1
    versions = ", ".join(f"{k} {v}" for k, v in first["versions"].items())
    loads = [x["load"] for x in lines]
    parts = [
        f"`{first['command']}`: {n:,} x {N_CLUSTERINGS} int32 labels, "
        f"{4 * n * N_CLUSTERINGS / 1e6:,.0f} MB in memory",
        f"and {first['disk_mb']:,.0f} MB of Parquet; {nc:,} base clusters; workers of",
        f"{MEMORY}, one thread each; {first['cores']} cores, load before each run",
        f"{min(loads):.1f} to {max(loads):.1f}; {versions}.",
        f"Reading in NumPy takes {seconds('read'):.1f} s, reading and counting",
        f"{plain_time:.1f} s. Labels of 1 and 2 workers are",
        "equal." if same else "NOT EQUAL.",
    ]
    ahead = forecast(
        per_row={s: seconds(s, workers=1) / n for s in ("count", "vote")},
        driver=seconds("solve"),
        bytes_per_row=1e6 * first["disk_mb"] / n,
        nc=nc,
    )
    return f"{' '.join(parts)}\n\n{grid(rows)}\n\n{grid(bars)}\n\n{ahead}\n"


def forecast(
    per_row: dict[str, float],
    driver: float,
    bytes_per_row: float,
    nc: int,
    n: float = 1e9,
    machines: int = 100,
    cores: int = 8,
) -> str:
    """Return an estimate for many rows on many machines."""
    rows = [("N = 10^9 on 100 machines of 8 cores, estimated", "amount")]
    for stage, seconds in per_row.items():
        rows.append(
            (f"{stage}: work of the cores", f"{n * seconds / machines / cores:.1f} s")
        )
    read = n * bytes_per_row
    rows += [
        (
            "read, each pass",
            f"{read / 1e9:,.0f} GB, {read / machines / 1e6:,.0f} MB each",
        ),
        ("shuffle, one table per worker", f"{machines * nc**2 * 8 / 1e9:.1f} GB"),
        (
            "shuffle, four tables per core",
            f"{4 * cores * machines * nc**2 * 8 / 1e9:.0f} GB",
        ),
        ("driver: propagation and cut", f"{driver:.1f} s"),
    ]
    return grid(rows)


if __name__ == "__main__":
    main()
