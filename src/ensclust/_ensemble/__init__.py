"""Ensemble: label rows in memory, as codes, and what can be counted of them."""
