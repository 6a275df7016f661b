"""Why surviving changes need no test; the first reason that matches counts."""

import re

_THREADS = "The number of threads does not affect results"
_PROGRESS = "Only the text of a progress display differs"
_MESSAGE = "Only the wording of a message differs"
_SLOWER = "Both branches give the same result, one of them more slowly"
_BOUNDARY = "The changed value lies exactly between two branches that agree"
_ROOM = "Only the size of a buffer differs, never what it holds"
_READING = "Only the speed or memory use of reading differs"
_NEGATIVE = "Any negative number means the same here"
_LENGTHS = "The lengths that `strict=True` compares are always equal"
_MEMORY = "Memory estimates are measured by slow tests of tests/test_memory.py"
_SLOW_TESTS = "Only tests too slow to run here reach the difference"
_RANDOM = "Different random numbers are as good as the ones before"
_TIES = "Among equally near candidates, another one is chosen"
_ROUNDING = "Results differ by rounding only, far below any tolerance"
_UNUSED = "The changed value is never used"
_NUMPY = "NumPy treats both values alike"
_REFUSED = "The next check rejects the same input"

# (pattern of path and function, pattern of the line before or after, reason)
REASONS = (
    (
        "",
        r"n_jobs(=n_jobs)?.*\n(?!.*n_jobs).*(None\)|, None,|\(None, |, *\)|\(\))",
        _THREADS,
    ),
    ("", r"^n_jobs=.*\n$", _THREADS),
    ("_run$", r"n_jobs=threads", _THREADS),
    ("", r"pools.limit\(", _THREADS),
    ("", r"with phase\(None\)", _PROGRESS),
    ("add_up", r"objects.fold\(.*None\)", _PROGRESS),
    ("_leiden_runs", r"tell\(", _PROGRESS),
    ("progress.begin", r"total or 1", _PROGRESS),
    ("split_half", r"enumerate\(seeds, 2\)", _PROGRESS),
    ("", r"strict=(True|False)?.*\n", _LENGTHS),
    ("models._reading|bad_label", r"type\(None\)|>= 64", _MESSAGE),
    ("", r'import_optional\("[\w.]+", .*\n.*XX', _MESSAGE),
    ("draw_base_k", r"_check_range\(None", _MESSAGE),
    ("cleaning._listed", r"\n.*21", _MESSAGE),
    ("table.methods", r"or_none=True.*\n", _MESSAGE),
    ("cli/_messages|_of_anndata|_unavailable", "", _MESSAGE),
    ("", r"check_\w+\(.*hint=.*\n(?!.*hint=)", _MESSAGE),
    ("features\\.", r"n_infinite.*\n.*bool\(None\)", _MESSAGE),
    ("_distinct", r"reach > len", _SLOWER),
    ("_Iteration.leading", "n_settled > k", _SLOWER),
    ("engines.call", r"value if False", _SLOWER),
    ("arrow_text._is_plain|add_rows", r"\n.*if (True|False):", _SLOWER),
    ("has_missing", r"multiplicity.*\n.*True", _SLOWER),
    ("_add_cells", r"\n.*None if True", _SLOWER),
    ("clusterers.fit_all", r"if False:", _SLOWER),
    ("kmeans.(step|label)$", r"\n.*if True:", _SLOWER),
    ("Square.survey", r"\n.*if True:", _SLOWER),
    ("is_nearest_to_itself", r"break\ncontinue", _SLOWER),
    ("MetaClusters.cut", "labels, None", _SLOWER),
    ("Coarsening._search", r"else 2\)", _SLOWER),
    ("tables\\.", r"return ids if False", _SLOWER),
    ("", r"copy=False.*\n(?!.*copy=)", "Only whether an array is copied differs"),
    ("base_kmeans$", "_VISITS = 500001", _BOUNDARY),
    ("Frame.of", r"\n.*2 / _PLAIN", _BOUNDARY),
    ("_require_entries", ">= check", _BOUNDARY),
    ("arrow_text$", "_FIELD = 131073", _BOUNDARY),
    ("_files/text$", r"_LONGEST = 3\*\*27", "Only lines of more than 128 MB reach it"),
    ("sources$", "_LEAN", _READING),
    ("open_parquet.blocks", r"rows = ", _READING),
    ("read_cells", r"if False else source.width", _READING),
    ("_read_npz", r"\(path, None\)", _READING),
    ("engines.fold", r"size \*= 2", "Only how many blocks are read at a time differs"),
    ("routes$", "CHAINS = (65|.*13)", "Only how many chains advance at a time differs"),
    ("(Square|Matrix).join", r"n\*\*3", _ROOM),
    ("kmeans.closer", r"\n.*if True else 0", _ROOM),
    ("_cuts/kmeans$", r"_MAX_TILES = 2\*\*25", _ROOM),
    ("_leading$", r"_WIDTHS = \(161", "Only how many vectors are iterated differs"),
    ("_kernels/regions$", "LANES = 65", _ROOM),
    ("_kernels/walks$", "WIDTH = 33", _ROOM),
    ("counting.count_any", r"k_left \+ 2", _ROOM),
    ("_pass_over", r"\n.*2\.0 if", _ROOM),
    ("check_reference", r"\n.*-2\)", _NEGATIVE),
    ("CoAssociation.expand", r", -2\)", _NEGATIVE),
    ("", r"reshape\(.*-1\).*\n.*-2\)", _NEGATIVE),
    (
        "_needed_memory|_bytes|require_memory|^_methods/",
        "^_pair_bytes = |_needed_memory|n_nodes|max\\(cut, walks\\)",
        _MEMORY,
    ),
    ("cli/_paper", r"summary.json|callback=calm", _SLOW_TESTS),
    ("_mixed|InBlocks.fold", "None", _SLOW_TESTS),
    ("open_parquet.blocks", "if done < stop", _SLOW_TESTS),
    ("onehot_kmeans._clocks", r"\(32\)", _RANDOM),
    ("noise_test$", r"\n.*generate_state.* << 1", _RANDOM),
    ("CommunityGraph", r"randint\(2\*\*31 \+ 1", _RANDOM),
    ("regions.neighbours|merging.merge$", r">= best|<= limit", _TIES),
    ("_loses.scores", r"astype\(None\)", _ROUNDING),
    ("Coarsening.fixed_point", "initial=1", _ROUNDING),
    ("kmeans.find_slack", r"\+ wide", _ROUNDING),
    ("scaling$", "_BITS = 27", _ROUNDING),
    ("Coarsening|consensus_pairs", r"None\b", "A wider type holds the same numbers"),
    ("standard_scaling", r"\n.*, 1\)", _UNUSED),
    ("_gram_by_doubling", r"place < len.*\n", _UNUSED),
    ("_count_name", r"get_params\(\)", _UNUSED),
    ("Selected.fitted", "return None", _UNUSED),
    ("cli/_run.Run$", "'memoryXX'", _UNUSED),
    ("silhouette", r"largest, 2\)", "Zero divided by any number is zero"),
    ("voting.vote", r"votes\[j\] >= 0", "A score of zero never beats another"),
    ("voting.vote", r"n_best >= 1", "A draw among one candidate has one outcome"),
    ("sum_minima", r"x >= 0", "Adding zeros changes no sum"),
    ("similarity.*grams", r"\n.*gram.T\) / 3", "A common factor cancels"),
    ("Model.penalty", "else 1.0", "A common constant cancels"),
    ("_rows_of", r"\n.*column <= k", "No label equals the number of clusters"),
    ("agreement.contingency", r"max\(\)", "There is at least one object"),
    (
        "mixture.scratch",
        r"\+ 3, 1, np",
        "Sums are reused for four clusterings at a time, and only one can match",
    ),
    ("regions.gather", r"shape\[1\]", "A square has as many columns as rows"),
    ("compare.compare", r"argsort\(-anmi, \)", _NUMPY),
    ("sum_of_walks", r"\n.*trans=2", "BLAS treats both alike for real numbers"),
    ("criteria$", "'largestXX'", "Whatever is no other rule means the largest"),
    (
        "redundancy.redundant",
        r"\n.*scores > 1\)",
        "No score is exactly one unit of 1e-9",
    ),
    ("", "'stableXX'", _NUMPY),
    ("_Run.advance", r"len\(norms\), None", _NUMPY),
    ("", r"return False\nreturn None", "`None` is as false as `False`"),
    ("write_lines", "mtime=1", "Any fixed timestamp does"),
    ("_take_array", "whole_file", "Only what is sent to workers differs"),
    ("engines$", r"_LARGE = 3", "Only what is sent to workers differs"),
    ("Run._open", r"labels\(None\)", "Masked labels are missing, as negative ones are"),
    ("arrow_text._is_plain", r"' XX'", "Arrow reads such lines alike, or rejects them"),
    ("matlab._reading", r"ignoring\(None\)", "SciPy warns of no file that we know"),
    ("_lossy", "line_buffering", "Only the buffering of output differs"),
    ("_Commands.parse_args", r"insert\(1,", "The second place on the path is enough"),
    (
        "_openml.fetch",
        r"if True:|asarray\(X, \)",
        "No other dataset has missing values",
    ),
    ("_openml.fetch", "parser=", "Both parsers give the same table"),
    ("_leiden_runs", "directed=", "It is scanpy's default"),
    ("BaseConsensus._counts", "n_features_in_", "scikit-learn sets it too"),
    ("_choosing.compare|cli/_options$", r"obsXX|\*\*32 \+ 1", _REFUSED),
    ("linkage.link$", "needed if False", _REFUSED),
    ("_guess_delimiter", "skipinitialspace", "The first line decides alike"),
)


def reason(where: str, before: str, after: str) -> str | None:
    """Return why no test can or should notice a change, None if unknown."""
    for place, line, why in REASONS:
        if re.search(place, where) and re.search(line, f"{before}\n{after}"):
            return why
    return None
