"""What stands around the text of a page; a Sphinx extension.

The side bar folds by chapter, a page names itself to those who share its address (Open Graph), and
its foot says how to report a mistake.
"""

import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from docutils import nodes
from printed import number
from stage import library

ADDRESS: str = library("deepdive_book.site.pages.setup_cell").ADDRESS
FORM = "issues/new?template=wrong_statement.yml"  # of .github/ISSUE_TEMPLATE


def is_public(address: str) -> bool:
    """Whether there is an address, and not a placeholder (hosts in .example never exist)."""
    host = urlsplit(address).netloc
    return bool(host) and not host.endswith(".example")


def report_address(address: str, page: str) -> str:
    """The project's form for a mistake, with the page's name filled in; "" without an address."""
    if not is_public(address):
        return ""
    return f"{address}/{FORM}&{urlencode({'title': f'Wrong on page {page}', 'page': page})}"


def site_address(address: str) -> str:
    """Where GitHub Pages shows the book of a project; "" for other hosts."""
    parts = urlsplit(address)
    if parts.netloc != "github.com":
        return ""
    owner, _, name = parts.path.strip("/").partition("/")
    return f"https://{owner.lower()}.github.io/{quote(name)}/"


def question(doctree: nodes.document) -> str:
    """The first paragraph under the title of a page: what it asks."""
    first = next(doctree.findall(nodes.paragraph), None)
    return " ".join(first.astext().split()) if first else ""


CARD = ("_static/card.png", "The lines of attention between the words of a sentence")


def card(app: Any, doctree: nodes.document | None) -> tuple[str, str]:
    """The address of a page's own picture, below the book's root, and its text: the first bitmap
    that has one, or else the book's card.
    """
    for image in doctree.findall(nodes.image) if doctree else ():
        _, name = app.env.images.get(image["uri"], ((), ""))
        if name.endswith((".png", ".webp", ".jpg")) and image.get("alt"):
            return f"_images/{name}", image["alt"]
    return CARD


def folded(bar: str) -> str:
    """The side bar with each chapter in a fold; the one with the current page is open."""

    current = re.compile(r'class="[^"]*\bcurrent\b')  # and not a title with the word "recurrent"

    def fold(part: re.Match[str]) -> str:
        is_here = current.search(part[2]) if current.search(bar) else part.start() == first
        return f"<details{' open' * bool(is_here)}><summary>{part[1]}</summary>{part[2]}</details>"

    caption = r'<p[^>]*class="caption"[^>]*><span class="caption-text">(.*?)</span></p>'
    chapter = re.compile(rf"{caption}\s*(<ul.*?</ul>)", re.DOTALL)
    found = chapter.search(bar)
    first = found.start() if found else 0
    return chapter.sub(fold, bar)


def surround(app: Any, name: str, template: str, context: Any, doctree: Any) -> None:
    """Give the templates what they need of a page."""
    title = re.sub(r"<[^>]+>", "", context.get("title") or "deepdive")
    page = f"{number(name)}{title}"
    base = site_address(ADDRESS)
    picture, alt = card(app, doctree)
    context["og"] = {
        "title": page,
        "description": question(doctree) if doctree else "",
        "url": f"{base}{name}.html" if base else "",
        "image": f"{base}{picture}" if base else context["pathto"](picture, 1),
        "alt": alt,
    }
    context["report"] = report_address(ADDRESS, page)
    context["named"] = page
    context["folded"] = folded


def setup(app: Any) -> dict[str, bool]:
    app.connect("html-page-context", surround)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
