import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import CoAssociation, Ensemble
from ensclust._trees.known_rows import KnownRows
from strategies import ensembles


def similarity_of_rows(known, new_row, row):
    """Return the similarity of two coded label rows by the definition."""
    start = known.ensemble.offsets[:-1]
    S = known.similarity
    S = np.eye(known.ensemble.n_base_clusters) if S is None else S
    m = range(len(row))
    pairs = [(a, b) for a in m for b in m if known.pairs == "all" or a == b]
    values = [
        S[start[a] + new_row[a], start[b] + row[b]]
        for a, b in pairs
        if new_row[a] >= 0 and row[b] >= 0
    ]
    return np.mean(values) if values else 0.0


def assigned(coassociation, labels, new, **options):
    """Return the labels of new objects by those of known ones."""
    fragments = coassociation.ensemble.fragments()
    of_fragment = np.empty(len(fragments.counts), np.int64)
    of_fragment[fragments.inverse] = labels
    affinity = coassociation.affinity
    known = KnownRows(fragments.labels, fragments.counts, of_fragment, affinity)
    return known.label(new, **options)


def literal(known, labels, new):
    """Return the labels of new objects by the definition, one object at a time."""
    rows = known.ensemble.labels
    result = []
    for new_row in new.labels:
        equal = (rows == new_row).all(axis=1)
        near = np.array([similarity_of_rows(known, new_row, row) for row in rows])
        if not equal.any():
            equal = np.isclose(near, near.max(), rtol=0, atol=1e-12) & (near > 0)
        votes = np.bincount(labels[equal], minlength=1)
        result.append(int(votes.argmax()) if equal.any() else -1)
    return result


@pytest.mark.parametrize("pairs", ["same", "all"])
@pytest.mark.parametrize("is_plain", [True, False])
@given(ensemble=ensembles(), data=st.data())
def test_labels_are_those_of_the_nearest_rows(pairs, is_plain, ensemble, data):
    ensemble = Ensemble(ensemble.labels)  # so that codes are the given labels
    n_clusters = ensemble.n_base_clusters
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    # Eighths: sums are exact, so that ties are ties.
    half = rng.integers(0, 9, (n_clusters, n_clusters)) / 8
    S = None if is_plain else np.minimum(half, half.T)
    known = CoAssociation(ensemble, S, pairs=pairs)
    label_of_fragment = rng.integers(0, 3, len(ensemble.fragments().counts))
    labels = label_of_fragment[ensemble.fragments().inverse]
    table = rng.integers(-1, 5, (6, ensemble.n_clusterings))
    new = ensemble.recode(np.vstack([table, ensemble.labels]))
    found = assigned(known, labels, new, n_jobs=2)
    assert found.tolist() == literal(known, labels, new)
    is_known = (new.labels[6:] >= 0).any(axis=1)
    assert np.array_equal(found[6:][is_known], labels[is_known])


def test_of_equally_near_rows_the_larger_group_decides():
    ensemble = Ensemble([[0, 0], [1, 1], [1, 1]])
    new = ensemble.recode([[0, 1], [0, 9], [9, 9]])
    found = assigned(CoAssociation(ensemble), np.array([0, 1, 1]), new)
    assert found.tolist() == [1, 0, -1]
