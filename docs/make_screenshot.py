"""Take the picture of a report for the guide: ``python -m docs.make_screenshot``.

Writes the page that docs/guide/seeing.md describes, and photographs its first four
charts in Chromium, which ``.ci/install-browser`` installs. Run it after a change to the
report.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, FloatRect, ViewportSize, sync_playwright
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ensclust import ECPCSHC
from ensclust._support.whole_files import replacing

TARGET = Path(__file__).parent / "report.png"
WIDTH = 1200
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def write_page(path: Path) -> None:
    """Write the report of the guide."""
    wine = load_wine()
    X = scale(wine.data)
    model = ECPCSHC(3, random_state=0).fit(X)
    model.report(path, X, truth=wine.target, title="178 wines")


def photograph(browser: Browser, page: Path, target: Path = TARGET) -> None:
    """Save the upper part of a report as PNG."""
    window: ViewportSize = {"width": WIDTH, "height": 900}
    tab = browser.new_page(viewport=window, color_scheme="light")
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-ready]")
    end = tab.evaluate("byId('tree').getBoundingClientRect().bottom")
    part: FloatRect = {"x": 0, "y": 0, "width": WIDTH, "height": end + 12}
    with replacing(target) as handle:
        handle.write(tab.screenshot(clip=part, full_page=True))
    tab.close()


if __name__ == "__main__":
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    root = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = Path(folder, "wine.html")
        write_page(made)
        opened = playwright.chromium.launch(executable_path=chromium, args=root)
        photograph(opened, made)
        opened.close()
