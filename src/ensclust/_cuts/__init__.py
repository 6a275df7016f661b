"""Cuts: normalised and transfer cut, METIS, votes, one-hot k-means; assignments."""
