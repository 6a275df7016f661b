"""Label files in, consensus files out: from Python and from the command line.

Several people (or programs) have clustered the same flowers. Their clusterings lie in a
CSV file with names, gaps and one column that names the objects. Run with
``python examples/files.py``; it writes to a temporary directory.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.cluster import AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import load_iris

import ensclust
from ensclust.io import read_labels, write_labels

PROGRAM = "from ensclust.cli import main; main(prog_name='ensclust')"


def write_runs(path: Path) -> None:
    """Write five clusterings of the iris flowers; one covers two thirds of them."""
    X = load_iris().data
    clusterers = [KMeans(k, n_init=1, random_state=k) for k in (3, 4, 6)]
    clusterers += [AgglomerativeClustering(3), Birch(n_clusters=4, threshold=0.3)]
    runs = np.column_stack([clusterer.fit_predict(X) for clusterer in clusterers])
    runs[::3, 1] = -1  # not clustered here
    names = ["kmeans3", "kmeans4", "kmeans6", "ward", "birch"]
    write_labels(path, runs, names=names, ids=[f"flower{i}" for i in range(len(X))])


def shell(*args: str) -> None:
    """Run the command line as a user would, and show what it prints."""
    print("\n$ ensclust", *args, flush=True)
    subprocess.run([sys.executable, "-c", PROGRAM, *args], check=True)


def main() -> None:
    """Go from a file to a file, both ways."""
    truth = load_iris().target
    with TemporaryDirectory() as folder:
        runs = Path(folder, "runs.csv")
        write_runs(runs)

        # In Python a path does where a label matrix does.
        labels = ensclust.consensus(runs, 3, random_state=0)
        print(f"NMI with the species: {ensclust.metrics.nmi(labels, truth):.2f}")

        # read_labels() chooses columns, and keeps the ids for the way back.
        table = read_labels(runs, columns=["kmeans3", "ward", "birch"])
        found = ensclust.consensus(table.values, [3, 4], "ecpcs-hc")
        write_labels(Path(folder, "out.npz"), found, names=["k3", "k4"], ids=table.ids)

        # The same on the command line; formats go by the extension.
        shell("info", str(runs))
        shell("compare", str(runs), "-k", "3", "--methods", "eac,ecpcs-mc,kcc", "-q")
        out = str(Path(folder, "consensus.tsv"))
        shell("consensus", str(runs), "-k", "3", "--seed", "0", "-q", "-o", out)
        print("\n".join(Path(out).read_text().splitlines()[:3]))
        again = read_labels(out).values[:, 0]
        print(f"the same labels as in Python: {bool((again == labels).all())}")


if __name__ == "__main__":
    main()
