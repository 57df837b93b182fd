"""Sphinx's configuration of the book; `book/build.py` runs it over what `book/stage.py` wrote."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

project = "deepdive"
author = "The deepdive maintainers"
language = "en"
extensions = [
    "myst_nb",
    "sphinxcontrib.bibtex",
    "sphinx_design",
    "formulas",
    "coded",
    "links",
    "papers",
    "printed",
    "atlas",
    "access",
    "finder",
    "around",
]

# Pages: outputs are those that were committed.
nb_execution_mode = "off"
myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 4
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "papers"
bibtex_cite_id = "{key}"

html_theme = "sphinx_book_theme"
html_title = "deepdive"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = [
    "fonts.css", "roles.css", "book.css", "paths.css", "atlas.css", "search.css", "around.css",
    "front.css",
]  # fmt: skip
# build.py writes the data of the paths, and roles.css
SCRIPTS = (
    "asides.js",
    "scroll.js",
    "tables.js",
    "cards.js",
    "copy.js",
    "results.js",
    "paths_data.js",
    "paths.js",
)
html_js_files = [(name, {"defer": "defer"}) for name in SCRIPTS]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "home_page_in_toc": False,
    "search_bar_text": "Search",
    "show_toc_level": 2,
    "toc_title": "On this page",
    "footer_content_items": ["report.html", "author.html"],
    "use_download_button": False,
    "use_fullscreen_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
