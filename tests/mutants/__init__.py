"""Mutation testing: change the source in one place at a time, and see if a test fails.

``python -m tests.mutants run`` tries a sample, ``python -m tests.mutants report``
writes docs/mutants.md.
"""
