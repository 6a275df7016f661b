"""Cases at the edges of commands, each of which some change would break."""

import json

from conftest import cli_runner
from ensclust.cli import main


def test_the_truth_may_be_a_column_of_the_labels(tmp_path):
    rows = "".join(f"{i // 3},{i // 3},{i % 3}\n" for i in range(9))
    (tmp_path / "runs.csv").write_text(f"a,truth,b\n{rows}")
    command = ["compare", str(tmp_path / "runs.csv"), "-k", "3", "--methods", "eac"]
    done = cli_runner().invoke(main, [*command, "--truth", "truth", "--json"])
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n_clusterings"] == 2
