"""Print chapters of the built book, or their slides, one PDF a chapter, with Chromium.

    python book/pdf.py [--slides] --site build/site --out build/pdf [CHAPTER ...]

The pages of a chapter are joined into one document without scripts: films are strips, answers are
open, setup and folded code are left out. Links inside the chapter stay; others become text. Of
slides each frame is a page.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chromium import program
from stage import library

titled = library("house.pages").titled

STYLE = """
@page {
  size: A4; margin: 18mm 16mm 20mm;
  @bottom-center { content: counter(page); font: 9pt sans-serif; }
}
section.printed { break-before: page; }
body { max-width: 46rem; margin: 0 auto; }
nav.printed a { display: block; }
"""


class PrintError(Exception):
    """What keeps a chapter from being printed."""


def chapters(site: Path) -> dict[str, list[Path]]:
    """The pages of each chapter of a built site, and those of the case studies."""
    found: dict[str, list[Path]] = {}
    for page in sorted([*site.glob("chapters/*/*.html"), *site.glob("casestudies/*.html")]):
        if not page.name.startswith("_"):
            found.setdefault(page.parent.name, []).append(page)
    return found


def joined(pages: list[Path], title: str) -> str:
    """One HTML document of several pages of one folder, without scripts."""
    names = {page.name for page in pages}
    sections = [_section(page, names) for page in pages]
    first = BeautifulSoup(pages[0].read_text("utf-8"), "html.parser")
    styles = "".join(str(link) for link in first.find_all("link", rel="stylesheet"))
    heads = [section.find("h1") for section in sections]
    entries = "".join(
        f'<a href="#{page.stem}">{head.get_text(" ", strip=True).rstrip("#")}</a>'
        for page, head in zip(pages, heads, strict=True)
        if head is not None
    )
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8">'
        f"<title>{title}</title>{styles}<style>{STYLE}</style><body><h1>{title}</h1>"
        f'<nav class="printed">{entries}</nav>{"".join(map(str, sections))}</body></html>'
    )


def _section(page: Path, names: set[str]) -> Tag:
    """The text of one page, its anchors made unlike those of the other pages."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    article = soup.find("article")
    assert isinstance(article, Tag), f"{page} has no article"
    for gone in article.select("script, a.headerlink, a.run"):
        gone.decompose()
    for link in article.find_all("a", href=True):
        parts = urlsplit(str(link["href"]))
        if parts.scheme in ("http", "https"):
            continue
        if parts.path in names or not parts.path:
            stem = Path(parts.path).stem or page.stem
            link["href"] = f"#{stem}-{parts.fragment}" if parts.fragment else f"#{stem}"
        else:
            link.unwrap()
    for tag in article.find_all(id=True):
        tag["id"] = f"{page.stem}-{tag['id']}"
    section = soup.new_tag(
        "section", id=page.stem, attrs={"class": "printed bd-article bd-content"}
    )
    section.append(article.extract())
    return section


def on_paper(deck: Path) -> str:
    """A deck as a document without scripts; its style lays out a page a frame."""
    soup = BeautifulSoup(deck.read_text("utf-8"), "html.parser")
    for script in soup.find_all("script"):
        script.decompose()
    for link in soup.find_all("a"):
        link.unwrap()
    return str(soup)


def print_pdf(document: str, folder: Path, target: Path) -> None:
    """Print a document, whose addresses are relative to `folder`.

    Raises:
        PrintError: there is no Chromium, or it wrote nothing.
    """
    browser = program()
    if browser is None:
        raise PrintError("printing needs Chromium: make browser")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        page = folder / "_printed.html"
        page.write_text(document, encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={profile}", f"--print-to-pdf={target}", page.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            page.unlink()
    if not target.is_file():
        raise PrintError(f"Chromium wrote no {target.name}:\n{done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Print chapters of the built book.")
    parser.add_argument("chapters", nargs="*", help="parts of their names; default: all")
    parser.add_argument("--slides", action="store_true", help="print their slides instead")
    parser.add_argument("--site", type=Path, default=Path("build/site"))
    parser.add_argument("--out", type=Path, default=Path("build/pdf"))
    options = parser.parse_args()
    try:
        site = options.site.resolve()
        for name, pages in chapters(site).items():
            deck = site / "slides" / f"{name}.html"
            asked = not options.chapters or any(part in name for part in options.chapters)
            if not asked or (options.slides and not deck.is_file()):
                continue
            target = options.out.resolve() / f"{name}{'_slides' * options.slides}.pdf"
            if options.slides:
                print_pdf(on_paper(deck), deck.parent, target)
            else:
                print_pdf(joined(pages, titled(name)), pages[0].parent, target)
            print(f"{options.out / target.name}: {target.stat().st_size / 1e6:.1f} MB")
    except PrintError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
