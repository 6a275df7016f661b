"""Sphinx configuration: ``make docs`` builds the site into docs/_build/html."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import ensclust  # noqa: E402
from docs import make_reference, make_results  # noqa: E402

# Addresses are only in pyproject.toml; empty ones are left out.
_PROJECT = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())
_URLS = _PROJECT["tool"]["hatch"]["metadata"]["hooks"]["custom"]["urls"]

project = "ensclust"
author = "The ensclust developers"
copyright = author
version = release = ensclust.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # "--json" has two hyphens

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autosummary_generate = True
numpydoc_show_class_members = False  # the template lists them

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all of them run
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_baseurl = _URLS["Documentation"]
html_title = f"ensclust {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "ensclust"},
    "header_links_before_dropdown": 4,  # what fits beside the search field
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
if _URLS["Repository"]:
    html_theme_options |= {"github_url": _URLS["Repository"]}
    html_theme_options["navbar_end"] = ["theme-switcher", "navbar-icon-links"]
html_sidebars = {name: [] for name in ("index", "start", "performance", "design")}


def setup(app):
    """Write the pages that are generated from code and results before reading them."""
    make_reference.write(DOCS / "reference")
    make_results.write()
    app.connect("source-read", make_results.turn_links)
