"""What readers with a screen reader need and the theme does not give; a Sphinx extension.

What is fixed here is what axe-core names in the built pages (tests/book/test_reading.py); the
search button, which hides part of its text behind another name, is written anew in `_templates`.
"""

from typing import Any

FIXES = {
    # A folded part is named by the words that it shows.
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # docutils calls this a list, and its entries something else.
    '<div role="list" class="citation-list">': '<div class="citation-list">',
}


def fix(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Write the body of a page as it should have been written."""
    for wrong, right in FIXES.items():
        context["body"] = context.get("body", "").replace(wrong, right)


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", fix)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
