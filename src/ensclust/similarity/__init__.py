"""Similarities of base clusters: (Nc, Nc) matrices."""

from ensclust.similarity._measures import (
    connected_triples,
    jaccard,
    propagate,
    propagations,
    simrank,
    trajectories,
)

__all__ = [
    "connected_triples",
    "jaccard",
    "propagate",
    "propagations",
    "simrank",
    "trajectories",
]
