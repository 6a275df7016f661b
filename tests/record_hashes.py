"""Hashes of the labels that each method gives to small ensembles.

``python -m tests.record_hashes`` rewrites tests/label_hashes.json; with ``--print`` it
writes the content to stdout, for other interpreters and processes to compare. The
ensembles are generated from integers, so that they are the same on all platforms, and
their results do not depend on the last digits of a number.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

from ensclust import Ensemble, consensus, methods

FILE = Path(__file__).with_name("label_hashes.json")
SEED = 7


def scramble(numbers):
    """Return 64 bits for each number that look drawn at random (SplitMix64)."""
    z = np.asarray(numbers, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def noisy_copies(sizes, n_clusterings, *, split=1, moved=5, missing=0, seed=0):
    """Return clusterings that cut each group in up to ``split`` parts.

    Of 100 objects, ``moved`` are in a group drawn at random and ``missing`` in none.
    """
    group = np.repeat(np.arange(len(sizes)), sizes)
    n, k = len(group), len(sizes)
    cells = np.arange(n * n_clusterings).reshape(n, n_clusterings) + (seed << 32)
    draw = scramble(cells * 4), scramble(cells * 4 + 1), scramble(cells * 4 + 2)
    is_moved = draw[0] % np.uint64(100) < moved
    labels = np.where(is_moved, draw[1] % np.uint64(k), group[:, None]).astype(int)
    parts = 1 + np.arange(n_clusterings) % split
    # Objects of a group are consecutive, and every clustering cuts them elsewhere.
    place = np.arange(n)[:, None] * parts // (n // k) + np.arange(n_clusterings)
    labels = labels * split + place % parts
    is_missing = draw[2] % np.uint64(100) < missing
    is_missing[:, 0] = False
    return np.where(is_missing, -1, labels)


def cases():
    """Return the ensembles by name, each with a number of clusters."""
    return {
        "equal groups": (noisy_copies([45] * 4, 10, moved=55), 4),
        "unequal groups": (noisy_copies([90, 45, 25, 15], 12, moved=45, seed=1), 4),
        "groups in parts": (noisy_copies([50] * 5, 15, split=4, moved=35, seed=2), 5),
        "missing labels": (noisy_copies([40] * 3, 9, moved=40, missing=15, seed=3), 3),
        "fewer than groups": (noisy_copies([30] * 6, 12, moved=40, seed=4), 4),
    }


def labels_of(method, case, **options):
    """Return the labels of one case."""
    labels, k = cases()[case]
    return consensus(Ensemble(labels), k, method, random_state=SEED, **options)


def digest(labels):
    """Return the hash of labels, independent of how integers are stored."""
    return hashlib.sha256(np.ascontiguousarray(labels, "<i4").tobytes()).hexdigest()


def found():
    """Return the hashes of all methods and cases."""
    return {
        method: {case: digest(labels_of(method, case))[:16] for case in cases()}
        for method in methods()
    }


def main():
    """Write the file, or print what it would hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", dest="is_printed")
    text = json.dumps(found(), indent=1) + "\n"
    if parser.parse_args().is_printed:
        print(text, end="")
    else:
        FILE.write_text(text)


if __name__ == "__main__":
    main()
