"""Inputs that nobody would write by hand: targets, seeds, and what was found."""
