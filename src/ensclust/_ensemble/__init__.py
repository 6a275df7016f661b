"""Ensemble: encoded label rows in memory, and what can be counted in them."""
