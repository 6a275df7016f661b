"""What ``make mutants`` found: writes docs/mutants.md, fails on what nobody examined.

``python -m tests.mutants`` reads the results that mutmut left in ``mutants/``. A mutant
that no test noticed needs a reason in REASONS; the first that fits its change counts.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "mutants.md"
GOAL = 85  # percent
SURVIVED, NO_TESTS = 0, 33
NAMES = {1: "failed a test", 3: "failed a test", SURVIVED: "survived"}
NAMES |= {-6: "crashed", -11: "crashed"}  # SIGABRT, SIGSEGV
TOO_LONG = "ran into the limit of time"

# (pattern of the function, pattern of the line before or after, why nothing changes)
REASONS = (
    (
        "",
        r"n_jobs.*\n.*(n_jobs=None|\(None\)|tasks, \)|weights, \)|max_regions, \)"
        r"|max_memory, None\)|LabelSpace\(\w+, None|dtype, None|uint32, None"
        r"|n_clusterings, None|outer, \))",
        "The number of threads never changes a result",
    ),
    ("", r"\n.*Square\(\w+, \w+, None", "A wider type holds the same numbers"),
    ("", r"\n.*kind=.STABLE", "NumPy reads it as it is meant"),
    ("check_init", r"\n.*XXiuXX", "No type is of the kind X"),
    ("", "outer = |small = |spans = ", "How threads share work never changes a result"),
    ("", "overwrite_a|check_finite|driver=", "LAPACK's choice of memory and algorithm"),
    ("", r"np.divide\(U|astype\(np.float64, ", "In place or in new memory"),
    ("", ">= _LARGE|>= _MAX", "Exactly at a limit between two right ways"),
    ("grams", r"\n.*gram.T\) (\* 2|/ 3)", "The scale of the products cancels"),
    ("grams", "gram.*or True", "It is symmetric already"),
    ("gram_by", "powers.append", "Other products, the same power"),
    ("gram_by", r"bits\[3:\], \)|place <=", "A power that nobody takes"),
    ("agglomerate", r"np.full\(n, -2", "Any number that no round has"),
    ("agglomerate", "if length", "Two chains end somewhere, or none does"),
    ("intersections", r"reshape\(-2", "NumPy takes any negative number"),
    ("agglomerate", r"first [+-]?= ", "The search begins earlier, at what is gone"),
    (
        "agglomerate",
        r"nullcontext\((None|lambda: (None|True))",
        "Asked only where merges are kept",
    ),
    ("dendrogram", "argsort", "Merges of equal height may come in any order"),
    ("symmetric_product", "linspace", "Other blocks of the same product"),
    ("", "strict=", "The lengths that are compared cannot differ"),
    (
        "",
        r"naming_index\(.*None|(check_integer|check_square)\((\w+, )?(None|\))",
        "The name of an argument in a message",
    ),
    ("jaccard", "np.divide", "Quotients of integers have this type anyway"),
    ("Ensemble.__init", "label_columns", "Noise is looked for again in the labels"),
    ("_adopt", "np.cumsum", "Sums of integers have this type anyway"),
    ("encode", ">= np.iinfo", "Widened to the type that it has"),
    ("recode", r"encode_column\(column, m, None", "Unknown values count as missing"),
    ("linkage.link", "max_memory, None, checkpoint", "Refused by what comes next"),
    (
        "",
        r"writeable = None|alive\[.*= None|journal = \"\"",
        "None is as false as False",
    ),
    (
        "",
        r"np\.(zeros|ones|full|asarray)\([^()]*(\(.*\))?, (None|dtype=None)?\)"
        r"|astype\(None\)",
        "A wider type holds the same numbers",
    ),
    ("onehot", r"key=None|\(found, \)|trace\), \)|\[:3\]", "The first two decide"),
    ("onehot.*best", r"np.inf, [+-]\d, None", "Of a thread that got no start"),
    ("onehot.*descend", "n_rows, -2", "Any number that is no centre"),
    ("onehot.*descend", "repaired = None, True", "Not read before it is set"),
    ("onehot.*descend", "<= self.tol", "Improvements of exactly tol"),
    (
        "onehot.*_bounds",
        r"largest = |change = |two = |others = |alive = |1\.0000000001",
        "Wider bounds: rows are looked at that could be skipped",
    ),
    ("onehot.*_bounds", "total = ", "Another margin of rounding, as good"),
    ("onehot.*_tables", "vanished", "Nobody joins a centre of distance 1e300"),
    ("onehot.*per_clustering", r"\[used\], \)", "The first axis is the default"),
    ("onehot.*draw", r"kind=None|\[first\], \)", "No two of them are equal"),
    ("trajectories", "out=None", "Memory that happens to hold zeros"),
    ("without_losers", r"\+ 3", "A table with room to spare"),
)


def outcomes() -> dict[str, int]:
    """Return the exit status of the tests for each mutant."""
    found: dict[str, int | None] = {}
    for path in sorted((ROOT / "mutants" / "src").rglob("*.meta")):
        found |= json.loads(path.read_text())["exit_code_by_key"]
    undone = [name for name, status in found.items() if status in {None, NO_TESTS}]
    if undone or not found:
        sys.exit(f"{len(undone)} of {len(found)} mutants were not run: make mutants")
    return found


def change(name: str) -> tuple[str, str]:
    """Return the lines before and after."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    lines = get_diff_for_mutant(name).splitlines()[2:]
    return tuple(
        " ".join(line[1:].strip() for line in lines if line[:1] == sign)
        for sign in "-+"
    )


def function(name: str) -> str:
    """Return module and function in the words of the source."""
    module, _, rest = name.removeprefix("ensclust.").partition(".x")
    return f"{module}.{rest.partition('__mutmut')[0].strip('_ǁ').replace('ǁ', '.')}"


def reason(where: str, before: str, after: str) -> str | None:
    """Return why no test can or should notice a change."""
    is_message = re.search(r"^f?[\"']|(check_\w+|naming_index|require)\(", before)
    if is_message and _without_texts(before) == _without_texts(after):
        return "Words of a message"
    for place, line, why in REASONS:
        if re.search(place, where) and re.search(line, f"{before}\n{after}"):
            return why
    return None


def _without_texts(line: str) -> str:
    return re.sub(r"""f?(["']).*?\1""", "", line)


def table(found: dict[str, int]) -> list[str]:
    """Return lines of Markdown: mutants by module and what became of them."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for name, status in found.items():
        counts[name.split(".")[1]][NAMES.get(status, TOO_LONG)] += 1
    heads = ("failed a test", "crashed", TOO_LONG, "survived")
    lines = [
        f"| module | mutants | {' | '.join(heads)} | noticed |",
        "| --- |" + " ---: |" * 6,
    ]
    for module, own in [
        *sorted(counts.items()),
        ("all", sum(counts.values(), Counter())),
    ]:
        total = own.total()
        noticed = 100 * (1 - own["survived"] / total)
        cells = " | ".join(str(own[head]) for head in heads)
        lines.append(f"| {module} | {total} | {cells} | {noticed:.1f} % |")
    return lines


def main() -> int:
    """Write the page; return 1 where something is below the goal or not examined."""
    found = outcomes()
    survivors = [name for name, status in found.items() if status == SURVIVED]
    grouped: dict[str | None, list[str]] = defaultdict(list)
    for name in survivors:
        where, (before, after) = function(name), change(name)
        line = f"| `{where}` | `{before}` | `{after}` |".replace("||", "\\|\\|")
        grouped[reason(where, before, after)].append(line)
    lines = [*table(found), ""]
    for why in sorted(filter(None, grouped)):
        lines += [
            f"## {why}",
            "",
            "| where | line | changed to |",
            "| --- | --- | --- |",
        ]
        lines += [*grouped[why], ""]
    PAGE.write_text(HEAD + "\n".join(lines))
    for line in grouped[None]:
        print("not examined:", line)
    noticed = 100 * (1 - len(survivors) / len(found))
    print(f"{noticed:.1f} % of {len(found)} mutants noticed")
    return int(bool(grouped[None]) or noticed < GOAL)


HEAD = """# Mutants

`make mutants` changes the modules that everything rests on in one place at a time, such
as `<` to `<=` or an argument to `None`, and runs their tests. A change that no test
notices is a hole in the tests, or changes nothing that anybody can see.
`python -m tests.mutants` writes this page from the last run. Those that survived were
looked at; what they have in common is the heading above them.

"""

if __name__ == "__main__":
    sys.exit(main())
