"""A few of the faults of tests/faults.py; ``make faults`` does 50.

Linkage that is stopped at every step is in test_checkpoint, workers that are killed and
runs that are interrupted between passes in test_distributed, full disks in test_io.
"""

import os
import signal

import pytest

from faults import WORKS, disturbed, refuse_words, undisturbed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

CLUSTER, REPORT, LINKAGE, REPRODUCE = WORKS


@pytest.mark.parametrize(
    ("work", "number", "share"),
    [
        (REPORT, signal.SIGKILL, 0.9),
        (LINKAGE, signal.SIGKILL, 0.6),
        (REPRODUCE, signal.SIGKILL, 0.7),
        (CLUSTER, signal.SIGINT, 0.5),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_a_fault_harms_nothing(work, number, share):
    expected, seconds = undisturbed(work)
    outcome = disturbed(work, expected, number, share * seconds)
    assert outcome is None or outcome.problems == []  # None: it was too quick


def test_the_end_after_ctrl_c_is_one_line_and_130():
    assert refuse_words(130, "ensclust: interrupted\n") == []
    assert refuse_words(2, "ensclust: interrupted\n") == ["ends with 2, not 130"]
    assert "Traceback" in refuse_words(1, "Traceback\n  ...\n")[0]
