"""Files and labels that nobody would write by hand: only our errors come out.

``make fuzz`` looks for more of them, guided by coverage; the corpus keeps its seeds and
what was once a bug.
"""

import pytest
from fuzz.targets import CORPUS, TARGETS
from hypothesis import given
from hypothesis import strategies as st

from strategies import damaged

pytest.importorskip("pyarrow")

FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
SEEDS = {
    name: [path.read_bytes() for path in FILES if path.parent.name == name]
    for name in TARGETS
}
SIGNS = ',;\t|\n\r" 0123456789.-+eE_ax\ufeff\x00\x1c\u00e9'


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_the_corpus_is_replayed(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.data())
def test_damaged_files_are_read_or_refused(name, data):
    TARGETS[name](data.draw(damaged(SEEDS[name])))


@given(st.text(SIGNS, max_size=60))
def test_any_text_is_read_or_refused(text):
    TARGETS["csv"](text.encode())


@given(st.binary(min_size=3, max_size=60))
def test_any_cells_make_an_ensemble_or_are_refused(data):
    TARGETS["ensemble"](data)
