import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import EAC, Ensemble, consensus
from ensclust._ensemble.ensemble import as_counts
from ensclust._support import encoding
from reference import membership
from strategies import ensembles, label_tables


def test_labels_are_coded_in_sorted_order_of_the_given_values():
    ens = Ensemble([[30, "b"], [10, "a"], [20, "b"]])
    assert ens.labels.tolist() == [[2, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("absent", [-1, -3, None, float("nan"), pd.NA, np.nan])
def test_negative_nan_and_none_mean_not_clustered(absent):
    ens = Ensemble(np.array([[1, 5], [absent, 5], [2, 5]], dtype=object))
    assert ens.labels.tolist() == [[0, 0], [-1, 0], [1, 0]]
    assert ens.n_base_clusters == 3


def test_a_float_table_with_nan_is_a_label_table():
    ens = Ensemble(np.array([[0.0, np.nan], [2.0, 1.0]]))
    assert ens.labels.tolist() == [[0, -1], [1, 0]]


def test_minus_one_in_a_mixed_list_is_missing_not_text():
    assert Ensemble([[-1, "a"], [3, "b"]]).labels.tolist() == [[-1, 0], [0, 1]]


def test_a_frame_may_hold_categories_and_nullable_integers():
    frame = pd.DataFrame(
        {
            "leiden": pd.Categorical(["1", None, "0"], categories=["9", "1", "0"]),
            "kmeans": pd.array([4, pd.NA, 4], dtype="Int64"),
        }
    )
    ens = Ensemble(frame)
    assert ens.labels.tolist() == [[1, 0], [-1, -1], [0, 0]]
    assert ens.categories[0].tolist() == [0, 1]  # as from a file


def test_columns_with_the_same_name_are_all_read():
    frame = pd.DataFrame(np.array([[0, 1], [1, 1]]), columns=["a", "a"])
    assert Ensemble(frame).n_clusterings == 2


def test_an_ensemble_of_an_ensemble_is_equal():
    ens = Ensemble([[0, 1], [1, 1]])
    assert Ensemble(ens) == ens


def test_from_clusterings_takes_vectors_of_any_kind():
    ens = Ensemble.from_clusterings(
        [np.array([0, 1, 1]), ["x", "x", "y"], pd.Series([2.0, np.nan, 2.0])]
    )
    assert ens.labels.tolist() == [[0, 0, 0], [1, 0, -1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("n_clusters", "dtype"),
    [(255, np.uint8), (256, np.uint16), (65535, np.uint16), (65536, np.uint32)],
)
def test_codes_take_the_smallest_type_with_room_for_the_sentinel(n_clusters, dtype):
    column = np.append(np.arange(n_clusters), -1)
    ens = Ensemble(np.column_stack([np.full(n_clusters + 1, -1), column]))
    assert ens.columns.dtype == dtype
    assert ens.labels[:, 1].tolist() == column.tolist()
    assert (ens.labels[:, 0] == -1).all()


@pytest.mark.parametrize("n_clusters", [127, 128, 129, 255, 32_767, 32_768, 70_000])
@pytest.mark.parametrize("noise", ["missing", "own-cluster"])
def test_codes_and_sizes_are_right_at_the_ends_of_the_types(n_clusters, noise):
    column = np.append(np.arange(n_clusters), [-5, 3])
    ens = Ensemble(column[:, None], noise=noise)
    shift = int(noise == "own-cluster")
    expected = np.append(np.arange(n_clusters) + shift, [shift - 1, 3 + shift])
    assert np.array_equal(ens.labels[:, 0], expected)
    assert np.array_equal(ens.sizes, np.bincount(expected[expected >= 0]))
    assert np.array_equal(ens.recode(column[::-1, None]).labels[:, 0], expected[::-1])


def test_labels_may_be_as_large_as_2_to_62():
    assert Ensemble([[2**62], [3]]).labels.tolist() == [[1], [0]]


def test_the_input_is_copied_and_the_ensemble_cannot_be_changed():
    table = np.array([[0, 1], [1, 0]])
    ens = Ensemble(table)
    table[0, 0] = 1
    assert ens.labels[0, 0] == 0
    for array in (ens.labels, ens.columns, ens.sizes, ens.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@given(label_tables())
def test_labels_round_trip(table):
    ens = Ensemble(table)
    for m in range(table.shape[1]):
        present = table[:, m] >= 0
        assert (ens.labels[:, m] >= 0).tolist() == present.tolist()
        decoded = ens.categories[m][ens.labels[present, m]]
        assert decoded.tolist() == table[present, m].tolist()


@given(label_tables())
def test_intersections_and_sizes_count_objects(table):
    ens = Ensemble(table)
    H = membership(ens)
    assert np.array_equal(ens.intersections(), H.T @ H)
    assert np.array_equal(ens.sizes, H.sum(axis=0))


def test_intersections_do_not_depend_on_n_jobs():
    ens = Ensemble(np.random.default_rng(0).integers(-1, 9, (1001, 7)))
    first = ens.intersections(n_jobs=1)
    assert np.array_equal(first, ens.intersections(n_jobs=2))
    assert np.array_equal(first, ens.intersections(n_jobs=5))


@given(label_tables())
def test_fragments_are_the_distinct_rows_in_lexicographic_order(table):
    ens = Ensemble(table)
    fragments = ens.fragments()
    assert np.array_equal(fragments.labels[fragments.inverse], ens.labels)
    assert np.array_equal(fragments.counts, np.bincount(fragments.inverse))
    last = ens.cluster_counts  # "not clustered" sorts after every label
    rows = [tuple(np.where(row < 0, last, row)) for row in fragments.labels]
    assert rows == sorted(set(rows))


def test_fragments_of_many_wide_clusterings_do_not_overflow():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 1000, (200, 40))
    table[100:] = table[:100]
    assert len(Ensemble(table).fragments().counts) == 100


@given(
    st.lists(st.integers(0, 9), max_size=40), st.sampled_from(["u1", "u4", "i4", "i8"])
)
def test_first_appearance_is_that_of_a_dictionary(labels, dtype):
    array = np.array(labels, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "_ROWS", 7)
        rank, n = encoding.ranks(encoding.first_places(array, 10))
    assert np.flatnonzero(rank >= 0).tolist() == sorted(set(labels))
    assert np.argsort(rank)[10 - n :].tolist() == list(dict.fromkeys(labels))


@given(ensembles())
def test_recode_numbers_known_values_alike_and_unknown_ones_as_missing(ens):
    table = np.column_stack(
        [
            np.where(labels < 0, -1, np.append(values, 0)[labels])
            for labels, values in zip(ens.labels.T, ens.categories, strict=True)
        ]
    )
    assert np.array_equal(ens.recode(table).labels, ens.labels)
    assert (ens.recode(np.full_like(table, 99)).labels == -1).all()


def test_absent_objects_are_those_in_no_clustering():
    ens = Ensemble([[0, -1], [-1, -1], [-1, 3]])
    assert ens.absent().tolist() == [False, True, False]
    assert ens.take(~ens.absent()).labels.tolist() == [[0, -1], [-1, 0]]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([[0, 1.5], [0, 1]], ValueError, r"labels\[0, 1\] = 1.5"),
        ([[0, float("inf")], [0, 1]], ValueError, r"labels\[0, 1\] = inf"),
        ([1, 2, 3], ValueError, r"shape \(3,\).*from_clusterings\(\[v1"),
        (np.zeros((0, 3)), ValueError, r"shape \(0, 3\)"),
        (np.zeros((2, 2, 2)), ValueError, r"shape \(2, 2, 2\)"),
        ([[1, 2], [3]], ValueError, "different length"),
        ([[1, "a"], ["b", "a"]], TypeError, r"labels\[:, 0\] mixes int.*str"),
        (np.array([[1 + 2j]]), TypeError, "complex"),
        (np.array([[[1], 2]], dtype=object), ValueError, "labels"),
        (5, ValueError, "labels is of type int; expected an array"),
        (None, ValueError, "labels is None; expected an array"),
        (
            {"a": [0, 1]},
            ValueError,
            r"labels is of type dict.*from_clusterings\(labels.val",
        ),
    ],
)
def test_what_is_no_label_table_is_refused_with_the_reason(labels, error, message):
    with pytest.raises(error, match=message):
        Ensemble(labels)


def test_unhashable_labels_are_named():
    column = np.empty((2, 1), dtype=object)
    column[0, 0], column[1, 0] = 1, {"a": 1}
    with pytest.raises(ValueError, match=r"labels\[1, 0\] = \{'a': 1\}"):
        Ensemble(column)


def test_clusterings_of_different_length_are_refused_by_number():
    with pytest.raises(ValueError, match=r"clusterings\[1\] has 2 labels"):
        Ensemble.from_clusterings([[0, 1, 1], [0, 1]])


def test_recode_names_a_wrong_number_of_columns():
    with pytest.raises(ValueError, match="3 columns; the ensemble has 2"):
        Ensemble([[0, 1], [0, 0]]).recode([[0, 1, 2]])


def test_recode_names_the_column_of_other_labels():
    with pytest.raises(TypeError, match=r"labels\[:, 1\] mixes int.*str"):
        Ensemble([[0, 1], [0, 0]]).recode(np.array([[0, "a"]], dtype=object))
    with pytest.raises(ValueError, match=r"labels\[0, 1\] = 1.5"):
        Ensemble([[0, 1], [0, 0]]).recode([[0, 1.5]])


def _in_an_object_array(vectors):
    table = np.empty(len(vectors), object)
    table[:] = vectors
    return table


VECTORS = [np.array([0, 0, 1, 1, 2]), np.array([3, 3, 3, 4, 4])]


@pytest.mark.parametrize(
    "labels",
    [
        VECTORS,
        tuple(VECTORS),
        [pd.Series(vector) for vector in VECTORS],
        [pd.Categorical(vector) for vector in VECTORS],
        [pd.Series(vector, dtype="category") for vector in VECTORS],
        [vector.astype(object) for vector in VECTORS],
        [VECTORS[0], VECTORS[1].tolist()],
        _in_an_object_array(VECTORS),
    ],
)
def test_a_list_of_label_vectors_means_clusterings(labels):
    known = Ensemble(np.column_stack(VECTORS))
    assert Ensemble(labels) == known
    assert known.recode(labels) == known
    assert consensus(labels, 2, "eac").tolist() == consensus(known, 2, "eac").tolist()
    model = EAC(2, base="precomputed").fit(labels)
    assert model.n_features_in_ == 2
    assert model.predict(labels).tolist() == model.labels_.tolist()


def test_a_list_of_one_vector_is_one_clustering():
    assert Ensemble([VECTORS[0]]).labels.ravel().tolist() == [0, 0, 1, 1, 2]


def test_nested_lists_with_more_columns_than_rows_are_refused_in_both_readings():
    said = (
        r"shape \(2, 3\).*is a clustering of 3 objects, use "
        r"Ensemble\.from_clusterings\(labels\).*in 3 clusterings, use np\.array\(lab"
    )
    with pytest.raises(ValueError, match=said):
        consensus([[0, 0, 1], [0, 1, 1]], 2)
    assert Ensemble([[0, 0], [0, 1]]).n_objects == 2


@pytest.mark.parametrize("kind", [np.array, pd.DataFrame])
def test_a_table_with_more_columns_than_rows_is_doubted(kind):
    said = r"2 rows \(objects\) and 3 columns.*Ensemble\.from_clusterings"
    with pytest.warns(UserWarning, match=said) as caught:
        assert Ensemble(kind([[0, 0, 1], [0, 1, 1]])).n_objects == 2
    assert caught[0].filename == __file__


def test_series_must_name_the_same_objects():
    one = pd.Series([0, 1, 1], index=list("abc"))
    with pytest.raises(ValueError, match=r"clusterings\[1\] has another index than"):
        Ensemble([one, one[::-1]])
    assert Ensemble([one, one.to_numpy()]).n_clusterings == 2


def test_an_ensemble_is_taken_as_it_is():
    ens = Ensemble([[0], [1]])
    assert as_counts(ens) is ens
    assert as_counts([[0], [1]]) == ens
    said = r"noise='own-cluster' comes too late for Ensemble\(n_objects=2"
    with pytest.raises(ValueError, match=said):
        Ensemble(ens, noise="own-cluster")


def test_noise_of_a_file_is_what_it_is_of_an_array(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n0,1\n-1,1\n,2\n")
    for noise, n_missing in {"missing": 2, "own-cluster": 1}.items():
        assert (Ensemble(path, noise=noise).labels < 0).sum() == n_missing


def test_one_clustering_is_an_ensemble():
    assert Ensemble.from_clusterings([[4, 7, 7]]) == Ensemble([[4], [7], [7]])


def test_an_ensemble_stays_immutable_through_pickle():
    ens = pickle.loads(pickle.dumps(Ensemble([[0, 1], [1, 1]])))
    assert ens == Ensemble([[0, 1], [1, 1]])
    for array in (ens.columns, ens.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_from_clusterings_treats_noise_as_the_constructor_does():
    vectors = [[0, -1, -1], [4, 4, -1]]
    for noise in ("missing", "own-cluster"):
        made = Ensemble.from_clusterings(vectors, noise=noise)
        assert made == Ensemble(np.transpose(vectors), noise=noise)


def test_recode_knows_what_noise_was():
    labels = np.array([[0], [-1], [1]])
    for noise, expected in {"missing": [1, -1], "own-cluster": [2, 0]}.items():
        found = Ensemble(labels, noise=noise).recode([[1], [-1]])
        assert found.labels.ravel().tolist() == expected


@pytest.mark.parametrize(
    ("clusterings", "said"),
    [
        (7, "type int"),
        ([], r"\(0, 0\).*at least one"),
        ([[], []], r"\(0, 2\)"),
        ([[]], r"\(0, 1\)"),
    ],
)
def test_clusterings_that_are_none_are_named(clusterings, said):
    with pytest.raises((TypeError, ValueError), match=said):
        Ensemble.from_clusterings(clusterings)


def test_an_index_that_is_wrong_is_named():
    ensemble = Ensemble([[0, 1], [1, 1], [0, 0]])
    with pytest.raises(IndexError, match=r"rows.*7.*3"):
        ensemble.take([7])
    with pytest.raises(IndexError, match=r"clusterings.*5.*2"):
        ensemble.select([5])
