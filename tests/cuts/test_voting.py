import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import Ensemble
from ensclust._cuts.voting import Vote, settle
from strategies import ensembles


def literal_scores(ens, meta):
    """Mean over the base clusters of each meta-cluster of an object's membership."""
    H = reference.membership(ens)
    return np.column_stack(
        [
            H[:, meta == j].mean(axis=1) if (meta == j).any() else np.zeros(len(H))
            for j in range(meta.max() + 1)
        ]
    )


@st.composite
def votes(draw):
    ens = draw(ensembles())
    n = ens.n_base_clusters
    meta = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return ens, np.array(meta)


@given(votes())
def test_the_winner_has_the_largest_mean_membership(case):
    ens, meta = case
    scores = literal_scores(ens, meta)
    winner = Vote(meta, 0).label(ens)
    own = scores[np.arange(len(winner)), winner]
    assert np.allclose(own, scores.max(axis=1))


@given(votes())
def test_memberships_are_the_scores_scaled_to_one(case):
    ens, meta = case
    scores = literal_scores(ens, meta)
    shares = Vote(meta, 0).memberships(ens)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.allclose(shares * scores.sum(axis=1, keepdims=True), scores)


@given(votes(), st.randoms())
def test_a_base_cluster_counts_as_much_as_its_weight(case, random):
    ens, meta = case
    weight = np.array([random.uniform(0.1, 1) for _ in meta])
    H = reference.membership(ens) * weight
    scores = np.column_stack(
        [
            H[:, meta == j].mean(axis=1) if (meta == j).any() else np.zeros(len(H))
            for j in range(meta.max() + 1)
        ]
    )
    vote = Vote(meta, 0, cluster_weights=weight)
    winner, shares = vote.label(ens), vote.memberships(ens)
    assert np.allclose(scores[np.arange(len(winner)), winner], scores.max(axis=1))
    assert np.allclose(shares * scores.sum(axis=1, keepdims=True), scores)


@given(votes(), st.integers(0, 2**31 - 1))
def test_weights_of_1_change_no_vote(case, seed):
    ens, meta = case
    vote = Vote(meta, seed, cluster_weights=np.ones(len(meta)))
    assert np.array_equal(vote.label(ens), Vote(meta, seed).label(ens))


@given(votes(), st.integers(0, 2**31 - 1), st.randoms())
def test_a_label_depends_on_its_row_and_the_seed_only(case, seed, random):
    ens, meta = case
    order = list(range(ens.n_objects))
    random.shuffle(order)
    winner = Vote(meta, seed).label(ens)
    assert np.array_equal(Vote(meta, seed).label(ens.take(order)), winner[order])
    assert np.array_equal(Vote(meta, seed).label(ens.take([0])), winner[:1])


@given(votes(), st.permutations(range(4)))
def test_numbering_metaclusters_anew_does_not_change_who_wins(case, number):
    ens, meta = case
    number = np.array(number)
    winner = Vote(meta, 3).label(ens)
    assert np.array_equal(Vote(number[meta], 3).label(ens), number[winner])


def test_ties_go_either_way_in_about_equal_shares():
    # Every pair of labels is a tie between two meta-clusters.
    n = 40
    labels = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2)
    ens = Ensemble(labels)
    meta = np.repeat([0, 1], n)
    winner = Vote(meta, 7).label(ens)
    assert 0.45 < winner.mean() < 0.55
    assert (Vote(meta, 8).label(ens) != winner).any()


def test_fractions_that_are_equal_tie_exactly():
    # 3 votes of 9 clusters and 1 vote of 3: equal, though 3 * (1 / 9) != 1 / 3.
    rows = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2]])
    ens = Ensemble(rows)
    meta = np.array([0, 0, 0] * 3 + [1, 1, 1])
    seen = {tuple(Vote(meta, s).label(ens)) for s in range(40)}
    assert len(seen) > 1


def test_an_object_without_a_vote_gets_minus_one_and_no_membership():
    ens = Ensemble([[0, -1], [-1, -1], [1, 1]])
    assert Vote(np.array([0, 1, 1]), 0).label(ens).tolist() == [0, -1, 1]
    assert Vote(np.array([0, 1, 1]), 0).memberships(ens)[1].tolist() == [0, 0]


@given(votes())
def test_settling_leaves_no_metacluster_without_objects(case):
    ens, meta = case
    left, ballot = settle(ens, [Vote(meta, 0)])
    assert set(ballot.labels) == set(range(left.meta_labels.max() + 1))
    assert np.array_equal(left.label(ens), ballot.labels)


def test_losers_get_minus_one_and_the_others_close_ranks():
    vote = Vote(np.array([3, 0, -1, 1, 2, 3]), 0)
    left = vote.without_losers(np.array([0, 3]))
    assert left.meta_labels.tolist() == [1, 0, -1, -1, -1, 1]
