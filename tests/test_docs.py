import ast
import json
import re

import pytest
from benchmarks import coarsening, noise, relabelling, scale
from benchmarks.evidence import __main__ as evidence
from benchmarks.evidence.report import lost
from benchmarks.evidence.sets import CHOOSING
from docs import (
    check_site,
    make_pages,
    make_readme,
    make_reference,
    make_results,
    make_start,
)
from docs.make_methods import COLUMNS, TARGET, abilities, about, render

import ensclust
from conftest import ROOT, pages
from ensclust._methods import METHODS
from ensclust._quality.criteria import CRITERIA
from ensclust._quality.k_selection import WITH_FEATURES

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    ROOT / "benchmarks" / "README.md",
    *pages(),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def test_the_page_of_methods_is_what_the_table_gives():
    assert TARGET.read_text() == render(), "run: python -m docs.make_methods"


def test_what_a_method_cannot_do_has_a_reason():
    for name, cls in METHODS.items():
        lacks = cls.info.lacks
        assert set(lacks) <= set(COLUMNS), name
        assert all(reason == reason.strip(" .") != "" for reason in lacks.values())
        assert ("weights" in lacks) == ("weights" not in cls().get_params()), name
    text = abilities()
    assert "| [`sec`](#sec) | yes | no (3) | mean similarities | yes | yes |" in text
    assert "\n3. It already weights each object, by the sizes of its base" in text
    assert "| [`ecpcs-mc`](#ecpcs-mc) | yes | yes | own shares | yes | yes |" in text


def test_what_weights_do_in_a_method_is_said():
    for name, cls in METHODS.items():
        is_weighted = "weights" not in cls.info.lacks
        assert bool(about(cls, "weights")) == is_weighted, name
    text = make_pages.weights()
    assert "| `sec` | no | It already weights each object, by the sizes" in text
    expected = "| `lwea` | yes | The weights count in the entropies and in the mean. |"
    assert expected in text
    assert "cluster_weights" not in text


def test_the_readme_names_every_method():
    readme = (ROOT / "README.md").read_text()
    for cls in METHODS.values():
        short = re.sub("^(ECPCS|LCE|GP|U)(BG|HC|MC|MGLA|SENC)$", r"\1-\2", cls.__name__)
        assert short in readme


def test_the_readme_shows_the_figures_of_the_results():
    readme = make_readme.TARGET.read_text()
    assert readme == make_readme.render(readme), "run: python -m docs.make_readme"


def test_the_front_page_has_the_lines_of_the_readme():
    page = (ROOT / "docs" / "index.md").read_text()
    [code] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    lines = [line.removeprefix(">>> ") for line in code.splitlines()]
    readme = (ROOT / "README.md").read_text()
    found = re.search(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", readme, re.S | re.M)
    assert lines == [line for line in "".join(found.groups()).splitlines() if line]


def test_the_picture_of_the_first_page_is_drawn_by_its_code(tmp_path):
    assert f"]({make_start.TARGET.name})" in make_start.PAGE.read_text()
    assert make_start.TARGET.stat().st_size < 200_000
    make_start.draw(tmp_path / "start.png")
    assert (tmp_path / "start.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_on_choosing_k_shows_what_was_measured():
    page = noise.PAGE.read_text()
    rows = json.loads(noise.RESULTS.read_text())["rows"]
    assert noise.report(rows) in page, f"run: {noise.COMMAND}"
    for name in CRITERIA:
        assert f"| `{name}` |" in page


def test_the_page_on_large_trees_shows_what_was_measured():
    text = coarsening.report(coarsening.read())
    assert text in coarsening.PAGE.read_text(), "run: python -m benchmarks.coarsening"


def test_the_page_on_scale_shows_what_was_measured():
    path = scale.RESULTS / "measurements.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert scale.report(lines) in scale.PAGE.read_text(), "run: benchmarks.scale"


def test_the_page_on_trust_shows_what_relabelling_changes():
    found = json.loads(relabelling.RESULTS.read_text())
    assert list(found["methods"]) == list(METHODS), f"run: {relabelling.COMMAND}"
    text = relabelling.report(found["n_ensembles"], found["methods"])
    assert text in relabelling.PAGE.read_text(), f"run: {relabelling.COMMAND}"


def test_auto_goes_by_the_rule_that_lost_least_on_the_choosing_half():
    root = evidence.CHOICE.parent
    rules = [line.split("|")[1:3] for line in lost(root).splitlines()[2:]]
    best = next(rule.strip() for rule, half in rules if half.strip() == CHOOSING)
    assert best == f"tested, {WITH_FEATURES}"


def test_the_pages_show_the_figures_of_the_results():
    for path, text in make_pages.render().items():
        assert path.read_text() == text, "run: python -m docs.make_pages"


def test_the_reference_has_every_public_name(tmp_path):
    make_reference.write(tmp_path / "reference")
    listed = "\n".join(path.read_text() for path in tmp_path.rglob("*.rst"))
    for name in ensclust._HOMES:
        assert f"\n   {name}\n" in listed, name
    for module in ensclust._MODULES:
        names = make_reference.public(getattr(ensclust, module))
        assert names
        for name in names:
            assert f"\n   {name}\n" in listed, name
    assert ".. currentmodule:: ensclust.scverse\n" in listed


def test_the_reference_of_the_command_line_is_made_from_the_commands(tmp_path):
    make_reference.write(tmp_path / "reference")
    commands = (tmp_path / "reference" / "commands.rst").read_text()
    assert ".. click:: ensclust.cli:main" in commands


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_for_the_gallery(path):
    docstring = ast.get_docstring(ast.parse(path.read_text()), clean=True)
    title, rule, blank = docstring.splitlines()[:3]
    assert rule == "=" * len(title)
    assert not blank


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_relative_link_leads_to_a_file_and_a_heading(path):
    for target in LINK.findall(CODE.sub("", path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{path.name}: {target}"


def anchors(path):
    """Return the anchors that GitHub and the site give to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", CODE.sub("", path.read_text()), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


def test_a_site_that_loads_from_elsewhere_or_has_dead_links_is_found(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    good = '<a href="other.html#here">x</a><a href="https://x.org">x</a>'
    (tmp_path / "index.html").write_text(good)
    assert check_site.problems(tmp_path) == []
    bad = {
        '<script src="https://x.org/a.js"></script>': "loads https://x.org/a.js",
        '<link rel="stylesheet" href="//x.org/a.css">': "loads //x.org/a.css",
        "<style>@import 'https://x.org/f'</style>": "loads https://x.org/f",
        '<a href="gone.html">x</a>': "gone.html does not exist",
        '<a href="other.html#gone">x</a>': "other.html#gone does not exist",
        '<img src="gone.png">': "gone.png does not exist",
    }
    for text, problem in bad.items():
        (tmp_path / "index.html").write_text(text)
        (found,) = check_site.problems(tmp_path)
        assert found.endswith(problem)


def test_links_to_results_and_examples_lead_to_pages_in_the_site():
    source = ["[a](../../benchmarks/results/table2.md) [b](../../examples/files.py)"]
    make_results.turn_links(None, "guide/page", source)
    assert source == ["[a](../results/table2.md) [b](../gallery/files.rst)"]
    source = ["![c](../benchmarks/results/figure.png)"]
    make_results.turn_links(None, "page", source)
    assert source == ["![c](results/figure.png)"]
