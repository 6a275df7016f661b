"""The package names parameters in its messages, the command line options."""

import pytest

from ensclust.cli._messages import in_options

SAID = {
    "n_clusters=9 is larger than n_samples=6.": "-k 9 is larger than the 6 objects.",
    "1 to 9 clusters of n_samples=6 objects.": "1 to 9 clusters of the 6 objects.",
    "EAC formed 2 of n_clusters=4 clusters": "EAC formed 2 of 4 clusters",
    "base_k=(9, 2) has a lower end": "--base-k 9,2 has a lower end",
    "method='a.b:C' cannot be loaded": "-m a.b:C cannot be loaded",
    "--methods=(); expected": "--methods ''; expected",
    "--standardize='x' is not supported": "--standardize x is not supported",
    "The 'steps' parameter of ECPCSMC must be": "-p steps must be",
    'use partitioner="ncut", or': "use -p partitioner=ncut, or",
    "or raise max_memory.": "or raise -p max_memory.",
    "pass it as id_column.": "pass it as --id-column.",
    "leave out with exclude (--exclude)": "leave out with --exclude",
    'missing="drop" or missing="impute".': "--missing drop or --missing impute.",
    "pass header=False (--no-header).": "pass --no-header.",
    'method="x" needs select_k(sample) or compare(sample, k)': (
        "-m x needs ensclust select-k or compare"
    ),
}
NAMES = (  # of files and columns, and calls
    "x/max_memory has no column 'n_jobs'",
    "k=3.csv ends in '.csv'",
    "other=3 and id_2 stay",
    "Ensemble(noise=3)",
)


@pytest.mark.parametrize("message", SAID)
def test_parameters_become_options(message):
    assert in_options(message) == SAID[message]


@pytest.mark.parametrize("message", NAMES)
def test_what_is_no_parameter_stays(message):
    assert in_options(message) == message
