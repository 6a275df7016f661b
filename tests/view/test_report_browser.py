"""The report in a real browser: Chromium, headless, from a file."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_blobs

import ensclust
from ensclust import write_report
from strategies import random_ensemble

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is missing")

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
HOSTILE = '</script><script>window.stolen = 1</script><img src=x onerror="stolen = 2">'
PATIENCE = 120_000  # milliseconds, for busy machines

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium; .ci/install-browser installs Debian's"
)


@pytest.fixture(scope="module")
def browser():
    root = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=root)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def show(browser):
    """Return a function that opens a file; at the end nothing may have gone wrong."""
    faults, asked = [], []

    def go(path, **options):
        options.setdefault("viewport", {"width": 1280, "height": 900})
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        assert page.is_hidden("#alert")
        return page

    yield go
    assert faults == []
    own = ("file:", "data:", "blob:")
    assert [url[:80] for url in asked if not url.startswith(own)] == []


@pytest.fixture(scope="module")
def page(show, wine):
    """Return one open page of a tree; every test leaves it as it was."""
    return show(wine)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def wine(folder):
    """Return the report of a tree with features, classes and a choice of k."""
    data = load_wine(as_frame=True)
    X = (data.data - data.data.mean()) / data.data.std()
    model = ensclust.ECPCSHC(3, random_state=0).fit(X)
    found = ensclust.select_k(model.ensemble_, range(2, 9), random_state=0)
    path = folder / "wine.html"
    model.report(path, X, truth=data.target_names[data.target], selection=found)
    return path


@pytest.fixture(scope="module")
def hostile(folder):
    """Return the report of meta-clusters whose every name is an attack."""
    X, truth = make_blobs(90, centers=4, random_state=0)
    runs = ensclust.generate(X, 6, base_k=(3, 6), random_state=0).labels
    frame = pd.DataFrame(runs).rename(columns=lambda m: f"{HOSTILE}{m}")
    frame = frame.map(lambda label: f"{HOSTILE}{label}")
    model = ensclust.ECPCSMC(4, base="precomputed", random_state=0).fit(frame)
    path = folder / "hostile.html"
    names = [f"{i}{HOSTILE}"[:40] for i in range(90)]
    model.report(
        path, truth=[HOSTILE + str(t) for t in truth], ids=names, title=HOSTILE
    )
    return path


def drawn(page):
    """Return the names of the charts that Plotly has drawn."""
    charts = page.query_selector_all(".chart:has(svg)")
    return {chart.get_attribute("id").removesuffix("-chart") for chart in charts}


def resize(page, width):
    """Give the window a width and wait until the charts have followed."""
    page.set_viewport_size({"width": width, "height": 800})
    for _ in range(PATIENCE // 100):
        if page.evaluate("byId('tree-chart').layout.width === widthOf('tree-chart')"):
            return
        page.wait_for_timeout(100)


def test_all_charts_are_drawn(page):
    everywhere = {"clusters", "scatter", "matrix", "agreement", "pairs"}
    across = {"selection", "levels", "cdf", "matrices"}
    assert drawn(page) == everywhere | across | {"tree", "truth"}


def test_a_cluster_is_followed_through_the_page(page):
    chip = page.locator('#chips [data-cluster="1"]')
    chip.focus()
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-pressed") == "true"
    assert page.inner_text("#status") == "Cluster 1"
    clusters = page.locator("#objects-table tbody td:nth-child(2)").all_inner_texts()
    assert {text.strip() for text in clusters} == {"1"}
    faded = "byId('scatter-chart').data.map((trace) => trace.marker.opacity[0] < 0.5)"
    assert page.evaluate(faded) == [True, False, True]
    page.locator("#clusters-chart .point path").nth(2).click(force=True)
    # Plotly reports a click after a delay.
    page.wait_for_function("byId('status').innerText === 'Cluster 2'")
    page.locator('#chips [data-cluster=""]').click()
    assert page.evaluate(faded) == [False] * 3


def test_the_table_is_searched_and_sorted(page):
    rows = page.locator("#objects-table tbody tr")
    assert rows.count() == 25
    margins = rows.locator("td:nth-child(6)").all_inner_texts()
    assert margins == sorted(margins, key=float)
    page.get_by_role("button", name="margin").click()
    head = page.locator("#objects-table th[data-key=margin]")
    assert head.get_attribute("aria-sort") == "descending"
    margins = rows.locator("td:nth-child(6)").all_inner_texts()
    assert margins == sorted(margins, key=float, reverse=True)
    page.get_by_role("button", name="margin").click()
    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 125
    page.get_by_label("Search").fill("class_2 17")
    assert 0 < rows.count() < 25
    assert page.inner_text("#objects-count") == f"{rows.count()} of 178 match"
    assert {row.split()[-1] for row in rows.all_inner_texts()} == {"class_2"}
    page.get_by_label("Search").fill("nothing like this")
    assert rows.count() == 0
    assert page.inner_text("#objects-count") == "No object matches"
    page.get_by_label("Search").fill("")


def test_the_tree_is_cut_at_any_number_of_clusters(page):
    assert page.inner_text("#tree-sizes").endswith("as in this report.")
    slider, of_map = page.locator("#tree-k"), page.locator("#tree-map")
    slider.press("ArrowRight")
    assert page.inner_text("#tree-value") == "4"
    assert page.inner_text("#tree-sizes").startswith("4 clusters of ")
    of_map.click()
    assert page.evaluate("byId('scatter-chart').data.length") == 4
    assert "Coloured by a cut into 4" in page.inner_text("#scatter-note")
    page.get_by_role("button", name="Certainty").click()
    assert of_map.get_attribute("aria-pressed") == "false"
    assert "cut into" not in page.inner_text("#scatter-note")
    of_map.click()
    assert page.evaluate("byId('scatter-chart').data.length") == 4
    of_map.click()
    for key, k in (("Home", "1"), ("End", "30")):
        slider.press(key)
        assert page.inner_text("#tree-value") == k
    slider.fill("3")


def test_the_map_shows_certainty_and_other_axes(page):
    page.get_by_role("button", name="Certainty").click()
    assert page.evaluate("byId('scatter-chart').data[0].marker.showscale")
    heights = "Array.from(byId('scatter-chart').data[0].y)"
    before = page.evaluate(heights)
    page.locator("#scatter-axes").select_option("0,2")
    assert page.evaluate(heights) != before
    page.locator("#scatter-axes").select_option("0,1")
    page.locator("#scatter-colour [data-value=cluster]").click()


def test_the_map_of_the_ensemble_is_a_switch_away(page):
    places = "Array.from(byId('scatter-chart').data[0].x)"
    before = page.evaluate(places)
    page.get_by_role("button", name="Ensemble").click()
    assert page.evaluate(places) != before
    assert page.is_hidden("#scatter-axes")
    assert "t-SNE of the base clusterings" in page.inner_text("#scatter-note")
    page.get_by_role("button", name="Features").click()
    assert page.evaluate(places) == before
    assert page.is_visible("#scatter-axes")


def test_a_cluster_is_followed_through_trees_and_classes(page):
    chosen = "byId('truth-chart').layout.shapes.length"
    faded = "byId('tree-chart').data.filter((trace) => trace.opacity < 0.5).length"
    nodes = (
        "byId('levels-chart').data.at(-1).marker.opacity.filter((o) => o < 1).length"
    )
    assert [page.evaluate(what) for what in (chosen, faded, nodes)] == [0, 0, 0]
    page.locator('#chips [data-cluster="1"]').click()
    assert page.evaluate(chosen) == 3
    assert page.evaluate(faded) > 0
    assert page.evaluate(nodes) > 0
    page.locator('#chips [data-cluster=""]').click()
    assert [page.evaluate(what) for what in (chosen, faded, nodes)] == [0, 0, 0]


def test_every_cluster_has_a_tick_in_the_matrix(page):
    ticks = "byId('matrix-chart').layout.xaxis.ticktext"
    assert page.evaluate(ticks) == ["0", "1", "2"]
    gap = "apart([1, 2, 2.1, 9], 1, 0, 9)"
    assert page.evaluate(gap) == [1, 2, 3, 9]
    assert page.evaluate("apart([7, 8.9, 9], 1, 0, 9)") == [7, 8, 9]
    assert page.evaluate("chosenTicks(14, 5)") == [0, 3, 6, 9, 13]


def test_colour_bars_show_both_ends(page):
    shown = (
        "[...document.querySelectorAll('#matrix-chart .cbaxis text')]"
        ".filter((text) => text.style.visibility !== 'hidden'"
        " && text.style.display !== 'none').map((text) => text.textContent)"
    )
    for width in (390, 1280):
        resize(page, width)
        ticks = page.evaluate(shown)
        assert {"0", "100"} <= set(ticks)


def test_hovering_shows_values(page):
    page.locator("#clusters-chart .point path").first.hover(force=True)
    hover = page.locator("#clusters-chart .hoverlayer text").first
    assert "cluster consensus" in hover.text_content()


def test_a_chart_is_saved_as_a_picture(page):
    save = page.locator("#tree-chart .modebar-btn").first
    with page.expect_download() as found:
        save.focus()
        page.keyboard.press("Enter")
    assert found.value.suggested_filename.endswith(".png")


def test_it_prints_and_comes_back(page, tmp_path):
    width = page.evaluate("byId('tree-chart').layout.width")
    page.pdf(path=tmp_path / "r.pdf", format="A4")
    assert (tmp_path / "r.pdf").stat().st_size > 20_000
    assert page.evaluate("byId('tree-chart').layout.width") == width


def test_nothing_overflows_a_small_window(page):
    widths = "[...document.querySelectorAll('.chart svg')].map((s) => s.clientWidth)"
    for width in (320, 390, 768):
        resize(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert max(page.evaluate(widths)) <= width
    resize(page, 1280)


def test_dark_is_the_wish_of_the_system_until_the_reader_chooses(show, wine):
    page = show(wine, color_scheme="dark")
    assert page.get_attribute("html", "data-theme") == "dark"
    dark = page.evaluate("byId('tree-chart').layout.font.color")
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html[data-theme=light]")
    assert page.evaluate("byId('tree-chart').layout.font.color") != dark
    page.get_by_role("button", name="Dark").click()
    page.emulate_media(color_scheme="dark")
    page.emulate_media(color_scheme="light")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("byId('tree-chart').layout.font.color") == dark
    # Paper is white; the theme comes back after it.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.get_attribute("html", "data-theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_dark_colours_are_outlined_on_a_dark_page(show, wine):
    page = show(wine, color_scheme="dark")
    outline = "(colour) => [isDim(colour), edge(colour, colours()), inkOn(colour)]"
    dim, light, ink = page.evaluate(outline, "#3300ff")
    assert (dim, ink) == (True, "#ffffff")
    assert light != page.evaluate("colours().card")
    assert page.evaluate(outline, "#99cc88") == [False, "#1a2028", "#000000"]


def test_the_picture_of_the_guide_is_taken(browser, wine, tmp_path):
    make_screenshot = pytest.importorskip("docs.make_screenshot")
    make_screenshot.photograph(browser, wine, tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
    assert make_screenshot.TARGET.stat().st_size < 300_000


def test_hostile_names_stay_text(show, hostile):
    page = show(hostile)
    assert "graph" in drawn(page)
    assert page.inner_text("h1") == HOSTILE
    page.locator('#chips [data-cluster="0"]').click()
    page.get_by_label("Search").fill("<script>")
    assert page.locator("#objects-table tbody tr").count() > 0
    middle = "(chart) => chart.scrollIntoView({block: 'center', behavior: 'instant'})"
    page.locator("#graph-chart").evaluate(middle)  # not below the bar of clusters
    page.locator("#graph-chart .point").first.hover(force=True)
    hover = page.locator("#graph-chart .hoverlayer text").first
    assert "stolen" in hover.text_content()
    assert page.locator("img").count() == 0
    assert page.evaluate("typeof window.stolen") == "undefined"


def test_a_page_of_many_objects_says_what_it_shows(show, folder):
    ensemble = random_ensemble(20_000, 5, 4, seed=0)
    path = folder / "many.html"
    write_report(path, ensemble, ensemble.labels[:, 0])
    page = show(path)
    assert "A sample of 5,000 of 20,000 objects" in page.inner_text("#scatter-note")
    assert "the exact mean over their pairs" in page.inner_text("#matrix-note")
    assert "1,000 least certain of 20,000" in page.inner_text("#objects-note")


@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        ([[0]], [0]),
        ([[0, 1], [1, 0], [2, 2]], [0, 1, 2]),
        (np.arange(120).reshape(60, 2) % 7 - 1, np.arange(60) % 50),
    ],
    ids=["one-object", "singletons", "fifty-clusters"],
)
def test_small_and_degenerate_results_are_drawn(show, folder, runs, labels):
    write_report(folder / "small.html", runs, labels)
    assert len(drawn(show(folder / "small.html"))) == 5
