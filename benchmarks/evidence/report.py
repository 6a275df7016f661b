"""Tables and diagrams of the evidence, and the generated part of docs/evidence.md."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from benchmarks.evidence.k import FORMER, TRUE
from benchmarks.evidence.questions import PAPER, QUESTIONS
from benchmarks.evidence.sets import CONFIRMING, HALVES
from benchmarks.report import fill
from ensclust._support.json_files import read_json, read_lines
from ensclust._support.whole_files import write
from ensclust.paper._layout import grid

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
COMMAND = "python -m benchmarks.evidence"
COMMAND_LINE = ("scaling", "auto, ecpcs-mc", "none, ecpcs-hc")
GAINS = (
    "The table shows gains on real datasets, in points of NMI (of ARI in the column "
    '"ARI, confirming"), with standard errors over datasets, and in parentheses the '
    "numbers of datasets on which the candidate was better and worse."
)
NMI, ARI, ANMI = range(3)
ASKED = ("ecpcs-hc", "ecpcs-mc", "eac", "kcc")  # the best of these is chosen
WORDS = {  # of the page, for parts of the names of variants; "" is left out
    "kmeans": "k-means",
    "both": "k-means and spectral",
    "K": "",
    "2": "from 2 clusters",
    "sqrt N / 4": "from √N / 4 clusters",
    "20": "",
    "none": "",
    "effective": '`weights="size"`',
    "ecpcs-bg": "ECPCS-BG",
    "ecpcs-hc": "ECPCS-HC",
    "ecpcs-mc": "ECPCS-MC",
    "best of 4": "best of 4 methods",
}
SCALES = {"auto": '`scale="auto"`', "none": "no scaling"}
SAME = 0.05  # points of NMI or ARI that count as no difference


class Outcome:
    """The scores of one question on one half: means over the runs of each dataset.

    Attributes
    ----------
    sets, kinds : list of str
        The datasets, in order, and what they are.
    runs : int
        Minimum number of runs per dataset.
    scores : dict of str to ndarray of shape (n_sets, 3 or more)
        NMI, ARI and ANMI of each variant that every run has.
    """

    def __init__(self, rows: list[dict[str, Any]], reference: str):
        own = defaultdict(list)
        for row in rows:
            own[row["set"]].append(row)
        self.sets = sorted(own)
        self.kinds = [own[name][0]["kind"] for name in self.sets]
        self.runs = min(map(len, own.values()))
        self.reference = reference
        self.scores = {
            variant: np.array(
                [
                    np.mean([row["scores"][variant] for row in own[name]], axis=0)
                    for name in self.sets
                ]
            )
            for variant in rows[0]["scores"]
            if all(variant in row["scores"] for row in rows)
        }
        self._choose_best(own)

    def _choose_best(self, own: dict[str, list[dict[str, Any]]]) -> None:
        """Add the scores of the method that agrees best with the inputs of each run."""
        heads = {variant.rpartition(", ")[0] for variant in self.scores}
        for head in sorted(heads):
            names = [f"{head}, {method}" for method in ASKED]
            if set(names) <= set(self.scores):
                self.scores[f"{head}, best of {len(names)}"] = np.array(
                    [
                        np.mean([_best(row["scores"], names) for row in own[name]], 0)
                        for name in self.sets
                    ]
                )

    def gains(self, variant: str, measure: int, kind: str | None = None) -> np.ndarray:
        """Return differences from the reference for each dataset (of a kind)."""
        gains = self.scores[variant][:, measure] - self._reference[:, measure]
        return gains if kind is None else gains[np.array(self.kinds) == kind]

    @property
    def _reference(self) -> np.ndarray:
        return self.scores[self.reference]


def _best(scores: dict[str, list[float]], names: list[str]) -> list[float]:
    return max((scores[name] for name in names), key=lambda found: found[ANMI])


def write_reports(root: Path) -> None:
    """Write evidence.md, the diagrams, and the generated part of the page."""
    parts = []
    for name, question in QUESTIONS.items():
        for half in HALVES:
            path = root / f"{name}-{half}.jsonl.gz"
            if path.exists():
                found = Outcome(read_lines(path), question.reference)
                parts += section(f"{question.title} ({half} half)", found)
                draw(found, root / f"ranks-{name}-{half}")
                parts.append(f"![Mean ranks](ranks-{name}-{half}.png)\n")
    if not parts:
        return
    text = "\n".join(parts)
    write(root / "evidence.md", f"# Evidence\n\n{text}")
    fill(PAGE, COMMAND, f"\n{summary(root)}\n")


def section(title: str, found: Outcome) -> list[str]:
    """Return a table of all variants, and of their gains by kind of data."""
    kinds = sorted(set(found.kinds), key=lambda kind: (kind != "real", kind))
    counts = ", ".join(f"{found.kinds.count(kind)} {kind}" for kind in kinds)
    head = ["variant", "NMI", "gain on real", "ARI gain", "gain on synthetic"]
    head += [kind for kind in kinds if kind != "real"]
    lines = [head]
    order = sorted(found.scores, key=lambda v: -np.mean(found.gains(v, NMI, "real")))
    for variant in order:
        is_real = np.array(found.kinds) == "real"
        made = found.gains(variant, NMI)[~is_real]
        lines.append(
            [
                f"**{variant}**" if variant == found.reference else variant,
                f"{found.scores[variant][is_real, NMI].mean():.1f}",
                paired(found.gains(variant, NMI, "real")),
                paired(found.gains(variant, ARI, "real")),
                paired(made),
                *(f"{found.gains(variant, NMI, k).mean():+.1f}" for k in kinds[1:]),
            ]
        )
    return [
        f"## {title}\n",
        f"{len(found.sets)} datasets ({counts}), runs of each: {found.runs}.\n",
        grid(lines) + "\n",
    ]


def paired(gains: np.ndarray) -> str:
    """Return mean, standard error over datasets, and on how many it is better."""
    if len(gains) < 2:
        return ""
    error = gains.std(ddof=1) / len(gains) ** 0.5
    better, worse = np.sum(gains > SAME), np.sum(gains < -SAME)
    return f"{gains.mean():+.1f} ± {error:.1f} ({better}/{worse})"


def draw(found: Outcome, path: Path) -> None:
    """Draw mean ranks by NMI, with critical distances of the Nemenyi test.

    Two variants differ by the test (at 5 %) if their bars do not overlap.
    """
    from matplotlib.figure import Figure

    names = [name for name in found.scores if "none, " in name or ", " not in name]
    scores = np.array([found.scores[name][:, NMI].round(1) for name in names])
    ranks = rankdata(-scores, axis=0).mean(axis=1)
    n, k = len(found.sets), len(names)
    critical = studentized_range.ppf(0.95, k, np.inf) / 2**0.5
    critical *= (k * (k + 1) / (6 * n)) ** 0.5
    order = np.argsort(-ranks)
    figure = Figure(figsize=(7, 0.9 + 0.24 * k), layout="constrained")
    axes = figure.subplots()
    best = ranks.min()
    axes.axvspan(best - critical / 2, best + critical / 2, color="#1f77b4", alpha=0.12)
    axes.errorbar(ranks[order], range(k), xerr=critical / 2, fmt="o", color="#1f77b4")
    axes.set_yticks(range(k), [names[i] for i in order])
    axes.set_ylim(-0.6, k - 0.4)
    text = f"mean rank on {n} datasets; bars as wide as the critical distance"
    figure.supxlabel(text, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(f"{path}.png", dpi=90, metadata={"Software": None})


def summary(root: Path) -> str:
    """Return the text of the page: the choice, and its result on the other half."""
    head = ["what", "candidate", "compared with", *HALVES, "ARI, confirming"]
    lines = [[*head, "verdict"]]
    for one in read_json(root / "choice.json")["decisions"]:
        cells, last = compared(
            root, one["question"], one["candidate"], one["instead of"]
        )
        verdict = "not run" if last is None else judged(last)
        lines.append([one["what"], *cells, verdict])
    seen = [head, ["defaults of the command line", *compared(root, *COMMAND_LINE)[0]]]
    if (path := root / f"base-{CONFIRMING}.jsonl.gz").exists():
        found = Outcome(read_lines(path), PAPER)
        best = max(found.scores, key=lambda v: found.gains(v, NMI, "real").mean())
        seen.append(["best of all variants", *compared(root, "base", best, PAPER)[0]])
    listed = root / "confirming.jsonl"
    every = [
        f"- {row['at']}, choice of {row['choice'][:7]}: {', '.join(row['questions'])}"
        + (f" ({row['note']})" if "note" in row else "")
        for row in (read_lines(listed) if listed.exists() else [])
    ]
    more = ["Not candidates, but measured:", grid(seen, left=3)]
    parts = [GAINS, grid(lines, left=3), *more]
    if table := lost(root):
        parts += [LOST, table]
    return "\n\n".join([*parts, "All confirming runs:", "\n".join(every)]) + "\n"


def lost(root: Path) -> str:
    """Return a table of what rules for k lose in NMI against the true k."""
    head = ["rule", "half", "all sets", "real", "synthetic", "noise", f"all / {FORMER}"]
    lines = [head]
    for half in HALVES:
        path = root / f"k-{half}.jsonl.gz"
        if not path.exists():
            continue
        found = Outcome(read_lines(path), TRUE)
        kinds = np.array(found.kinds)
        loss = {v: np.maximum(-found.gains(v, NMI), 0) for v in found.scores}
        parts = [kinds != "", kinds == "real"]
        parts += [(kinds != "real") & (kinds != "noise"), kinds == "noise"]
        for rule in sorted(set(loss) - {TRUE}, key=lambda v: loss[v].mean()):
            own = [loss[rule][part] for part in parts]
            cells = [f"{part.mean():.1f}" if len(part) else "" for part in own]
            share = loss[rule].mean() / loss[FORMER].mean()
            lines.append([rule, half, *cells, f"{share:.0%}"])
    return grid(lines, left=2) if len(lines) > 1 else ""


LOST = (
    "The number of clusters: what a rule loses in points of NMI compared with the true "
    "k, as the mean over datasets (0 where it gains). The last column relates it to "
    f'the loss of "{FORMER}", the former default. Rules named "tested" answer 1 if the '
    "features cannot be told from noise; noise counts as one class."
)


def compared(
    root: Path, question: str, candidate: str, instead: str
) -> tuple[list[str], np.ndarray | None]:
    """Return cells of a comparison on real sets, and the confirming gains in NMI."""
    gains = {}
    for half in HALVES:
        path = root / f"{question}-{half}.jsonl.gz"
        if path.exists():
            found = Outcome(read_lines(path), instead)
            gains[half] = [found.gains(candidate, m, "real") for m in (NMI, ARI)]
    cells = [paired(gains[half][NMI]) if half in gains else "" for half in HALVES]
    last = gains.get(CONFIRMING)
    ari = "" if last is None else paired(last[ARI])
    names = [in_words(candidate), in_words(instead)]
    return [*names, *cells, ari], None if last is None else last[NMI]


def in_words(variant: str) -> str:
    """Return a variant as the page says it, without what all have in common."""
    first, *others = variant.split(", ")
    words = SCALES if len(others) == 1 else WORDS  # of scalings, there are two parts
    parts = [words.get(first, first), *(WORDS.get(part, part) for part in others)]
    return ", ".join(filter(None, parts))


def judged(gains: np.ndarray) -> str:
    """Return the verdict of the confirming half on a candidate."""
    error = gains.std(ddof=1) / len(gains) ** 0.5
    if gains.mean() < -2 * error:
        return "worse"
    few_worse = np.sum(gains < -SAME) <= len(gains) / 4
    return "better" if gains.mean() > 2 * error and few_worse else "no clear difference"
