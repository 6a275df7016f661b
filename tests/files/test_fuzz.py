"""Files and labels found by fuzzing: only our errors may occur.

``make fuzz`` looks for more of them, guided by coverage; the corpus keeps its seeds and
what was once a bug.
"""

import random
import subprocess
import sys

import pytest
from fuzz.targets import CORPUS, TARGETS
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from strategies import damaged

pytest.importorskip("pyarrow")

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
SEEDS = {
    name: [path.read_bytes() for path in FILES if path.parent.name == name]
    for name in TARGETS
}
EDITED = ("h5ad", "merges", "counts")  # what crashes there ends the process
IN_PROCESS = [name for name in TARGETS if name not in EDITED]
PROGRAM = """
import sys
from fuzz.targets import TARGETS
for line in sys.stdin:
    name, data = line.split(":")
    print(line, end="", flush=True)  # the last is what it ended at
    TARGETS[name](bytes.fromhex(data))
"""
SIGNS = ',;\t|\n\r" 0123456789.-+eE_ax\ufeff\x00\x1c\u00e9'


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name in IN_PROCESS],
    ids=lambda path: f"{path.parent.name}-{path.name}",
)
def test_the_corpus_is_replayed(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", EDITED)
def test_contents_that_nobody_wrote_end_no_process(name):
    pytest.importorskip("anndata")
    draw = random.Random(0)
    inputs = [*SEEDS[name], *(draw.randbytes(4 * (i % 4) + 5) for i in range(60))]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input="".join(f"{name}:{data.hex()}\n" for data in inputs),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-200:] + done.stderr[-2000:]


@pytest.mark.parametrize("name", IN_PROCESS)
@given(data=st.data())
def test_damaged_files_are_read_or_refused(name, data):
    TARGETS[name](data.draw(damaged(SEEDS[name])))


@given(st.text(SIGNS, max_size=60))
def test_any_text_is_read_or_refused(text):
    TARGETS["csv"](text.encode())


@given(st.binary(min_size=3, max_size=60))
def test_any_cells_make_an_ensemble_or_are_refused(data):
    TARGETS["ensemble"](data)
