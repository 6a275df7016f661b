"""Fuzzing: targets, seeds, and inputs that were found."""
