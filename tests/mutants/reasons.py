"""Why changes that survived need no test; the first reason that fits counts."""

import re

# (pattern of path and function, pattern of the line before or after, reason)
REASONS = (
    (
        "",
        r"n_jobs(=n_jobs)?.*\n(?!.*n_jobs).*(None\)|, None,|\(None, |, *\)|\(\))",
        "The number of threads never changes a result",
    ),
    ("", r"^n_jobs=.*\n$", "The number of threads never changes a result"),
    ("_run$", r"n_jobs=threads", "The number of threads never changes a result"),
    ("", r"with phase\(None\)", "What progress calls the work"),
    ("silhouette", r"largest, 2\)", "Nothing, divided by any number"),
    ("_distinct", r"reach > len", "One look more at all that was seen"),
    ("base_kmeans$", "_VISITS = 500001", "Exactly at a limit between two right ways"),
    ("", r"strict=(True|False)?.*\n", "The lengths that are compared cannot differ"),
    ("models._reading|bad_label", r"type\(None\)|>= 64", "Words of a message"),
    ("arrow_text._is_plain", r"' XX'", "Arrow reads such lines the same, or refuses"),
    ("arrow_text._is_plain|add_rows", r"\n.*if (True|False):", "The longer way"),
    ("sources$", "_LEAN", "Memory and time of reading, not what is read"),
    ("check_reference", r"\n.*-2\)", "Any negative number is no cluster"),
    ("agreement.contingency", r"max\(\)", "There is at least one object"),
    ("has_missing", r"multiplicity.*\n.*True", "The longer way"),
    ("_take_array", "whole_file", "What is sent to workers, not what it holds"),
    ("_rows_of", r"\n.*column <= k", "No code is the number of clusters"),
    ("engines.fold", r"size \*= 2", "How many blocks are looked at together"),
    ("write_lines", "mtime=1", "Any fixed time"),
    ("", r"@dataclass\(.*frozen=.*\n", "Frozen, and nobody tries to change it"),
    ("", r'import_optional\("[\w.]+", .*\n.*XX', "Words of a message"),
    ("draw_base_k", r"_check_range\(None", "Words of a message"),
    ("cleaning._listed", r"\n.*21", "Words of a message"),
    ("add_up", r"objects.fold\(.*None\)", "What progress calls the work"),
    ("", r"pools.limit\(", "The number of threads never changes a result"),
    ("", r"copy=False.*\n(?!.*copy=)", "In place or in new memory"),
    ("_add_cells", r"\n.*None if True", "The longer way"),
    ("", r"return False\nreturn None", "None is as false as False"),
    ("_count_name", r"get_params\(\)", "More names than are looked for"),
    ("Frame.of", r"\n.*2 / _PLAIN", "Exactly at a limit between two right ways"),
    (
        "_needed_memory|_bytes|require_memory|^_methods/",
        "^_pair_bytes = |_needed_memory|n_nodes|max\\(cut, walks\\)",
        "Promised memory, which tests/test_memory.py measures, and is not run",
    ),
    ("table.methods", r"or_none=True.*\n", "Words of a message"),
    ("scaling$", "_BITS = 27", "Other parts of the same exact sum"),
    ("linkage$", "_CHAINS = 65", "How many chains are followed at a time"),
    ("Spectrum._iterate", "ncv=", "Room for the iteration, not where it ends"),
    ("_Run.advance", r"len\(norms\), None", "Nothing is above NaN, as above infinity"),
    ("compare.compare", r"argsort\(-anmi, \)", "NumPy keeps the order of a few ties"),
    ("", "'stableXX'", "NumPy reads the first letter"),
    ("standard_scaling", r"\n.*, 1\)", "A number that nobody reads"),
    ("onehot_kmeans._clocks", r"\(32\)", "Other numbers at random"),
    ("voting.vote", r"votes\[j\] >= 0", "A share of 0 wins against nobody"),
    ("Coarsening.fixed_point", "initial=1", "Another scale of rounding, as good"),
    ("Model.penalty", "else 1.0", "A constant in what is compared"),
    ("matlab._reading", r"ignoring\(None\)", "No file is known of which SciPy warns"),
    ("_loses.scores", r"astype\(None\)", "Another rounding, far below what counts"),
    ("read_cells", r"if False else source.width", "Memory that is asked for before"),
    (
        "cli/_paper",
        r"summary.json|callback=calm",
        "Tests of ensclust reproduce take long, and are not run",
    ),
    ("similarity.*grams", r"\n.*gram.T\) / 3", "The scale of the products cancels"),
    ("Square.join", r"n\*\*3", "Room that nobody uses"),
    ("open_parquet.blocks", r"rows = ", "How many rows are read at a time"),
    ("_pass_over", r"\n.*2\.0 if", "Twice the room for sums than is needed"),
)


def reason(where: str, before: str, after: str) -> str | None:
    """Return why no test can or should notice a change."""
    for place, line, why in REASONS:
        if re.search(place, where) and re.search(line, f"{before}\n{after}"):
            return why
    return None
