"""The paper's experiments: protocol as data, a resumable runner, tables and figures.

``protocol`` says what is run and ``paper`` what was published; ``plan`` turns
experiments into units of work, ``work`` does one unit, ``store`` keeps what is done,
``runner`` runs units in processes; ``records`` collects results and ``scores`` averages
them; ``tables``, ``summary`` and ``figures`` show them beside the published ones, and
``report`` does all of it.
"""
