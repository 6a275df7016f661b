"""Random ensembles for hypothesis."""

import numpy as np
from hypothesis import strategies as st

from ensclust import Ensemble


@st.composite
def label_tables(draw, *, max_objects=12, max_clusterings=5, missing=True):
    """Draw an (N, M) table: small k, duplicate rows, singletons, perhaps -1."""
    n = draw(st.integers(1, max_objects))
    m = draw(st.integers(1, max_clusterings))
    lowest = -1 if missing and draw(st.booleans()) else 0
    highest = draw(st.integers(0, 4))
    cells = st.integers(lowest, highest)
    return np.array(draw(st.lists(cells, min_size=n * m, max_size=n * m))).reshape(n, m)


@st.composite
def ensembles(draw, **options):
    """Draw an ensemble in which every object is in some clustering."""
    table = draw(label_tables(**options))
    absent = (table < 0).all(axis=1)
    table[absent, 0] = 0
    return Ensemble(table)


@st.composite
def damaged(draw, seeds):
    """Draw a file that is nearly one of the seeds: changed here and there, cut off."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        stop = start + draw(st.integers(0, 4))
        content[start:stop] = draw(st.binary(max_size=4))
    return bytes(content[: draw(st.integers(0, len(content)))] or content)


def random_ensemble(n, m, k, seed, *, missing=0.0, noise=0.3):
    """Return noisy copies of one random partition: ties are rare for large m."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    labels = np.empty((n, m), np.int64)
    for j in range(m):
        moved = rng.random(n) < noise
        labels[:, j] = np.where(moved, rng.integers(0, k + j % 3, n), truth)
    labels[rng.random((n, m)) < missing] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    return Ensemble(labels)
