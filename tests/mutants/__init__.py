"""Changes of the source, one at a time, and whether a test notices.

``python -m tests.mutants run`` tries a sample, ``python -m tests.mutants report``
writes docs/mutants.md.
"""
