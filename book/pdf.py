"""Print chapters of the book, or their slides, one PDF per chapter, with Chromium.

    python book/pdf.py [--slides] [--site build/site] --out build/pdf [CHAPTER ...]

Without `--site` the book is built first, unless build/site is up to date. Where chapters are named
and it isn't, only their pages are built, into build/site-pdf.

The pages of a chapter are joined into one document without scripts: films are strips, answers are
open, setup and folded code are left out. Links inside the chapter stay; others become text. Of
slides each frame is a page.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from chromium import program
from folders import FolderError
from stage import BOOK, LEFT_OUT, library

from build import build, up_to_date

titled = library("deepdive_book.site.pages").titled

STYLE = """
@page {
  size: A4; margin: 18mm 16mm 20mm;
  @bottom-center { content: counter(page); font: 9pt sans-serif; }
}
section.printed { break-before: page; }
body { max-width: 46rem; margin: 0 auto; }
nav.printed a { display: block; }
"""

NO_BROWSER = "printing needs Chromium: make browser"


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
        left_out = str(link["href"]).startswith(LEFT_OUT)
        if parts.scheme in ("http", "https") and not left_out:
            continue
        if not left_out and (parts.path in names or not parts.path):
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
        raise PrintError(NO_BROWSER)
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


def chosen(root: Path, parts: Sequence[str]) -> list[str]:
    """The folders of a checkout's chapters whose names contain one of `parts`; without any, all.

    Raises:
        PrintError: a part is in no name.
    """
    pages = library("deepdive_book.site.pages").discover(root)
    folders = list(dict.fromkeys(page.source.parent.name for page in pages))
    for part in parts:
        if not any(part in folder for folder in folders):
            raise PrintError(f"no chapter has {part!r} in its name: they are {', '.join(folders)}")
    return [name for name in folders if not parts or any(part in name for part in parts)]


def site_of(root: Path, names: Sequence[str], every: bool) -> Path:
    """A built site that has these chapters: build/site if it is up to date, else what is built now.

    Raises:
        PrintError: the book can't be built; its faults.
    """
    whole, some = root / "build" / "site", root / "build" / "site-pdf"
    if up_to_date(root, whole):
        print("build/site is up to date", flush=True)
        return whole
    site, only = (whole, []) if every else (some, list(names))
    told = "the book" if every else ", ".join(only)
    if not every and up_to_date(root, site, only):
        print(f"build/{site.name} is up to date", flush=True)
        return site
    print(f"building {told} into build/{site.name} ...", flush=True)
    start = time.monotonic()
    try:
        site.parent.mkdir(exist_ok=True)
        faults = build(root, site, only)
    except (FolderError, library("deepdive.locks").Held) as error:
        raise PrintError(str(error)) from error
    if faults:
        raise PrintError("\n".join(faults))
    print(f"built in {time.monotonic() - start:.0f} s", flush=True)
    return site


def print_chapters(site: Path, names: Sequence[str], out: Path, *, slides: bool = False) -> None:
    """Print these chapters of a site, or their slides; say of each which it is and what it took.

    Raises:
        PrintError: there is no Chromium, or it wrote nothing.
    """
    found = chapters(site)
    decks = {name: site / "slides" / f"{name}.html" for name in names}
    names = [name for name in names if (decks[name].is_file() if slides else name in found)]
    for number, name in enumerate(names, start=1):
        start, pages = time.monotonic(), found[name]
        target = out.resolve() / f"{name}{'_slides' * slides}.pdf"
        if slides:
            print_pdf(on_paper(decks[name]), decks[name].parent, target)
        else:
            print_pdf(joined(pages, titled(name)), pages[0].parent, target)
        what = "slides" if slides else f"{len(pages)} pages"
        print(
            f"[{number}/{len(names)}] {name}: {what}, {target.stat().st_size / 1e6:.1f} MB, "
            f"{time.monotonic() - start:.0f} s, {out / target.name}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Print chapters of the book.")
    parser.add_argument("chapters", nargs="*", help="parts of their names; default: all")
    parser.add_argument("--slides", action="store_true", help="print their slides instead")
    parser.add_argument("--site", type=Path, help="a built book, which is taken as it is")
    parser.add_argument("--out", type=Path, default=Path("build/pdf"))
    parser.add_argument("--root", type=Path, default=BOOK.parent, help="the checkout to print")
    options = parser.parse_args()
    root = options.root.resolve()
    try:
        names = chosen(root, options.chapters)
        if program() is None:
            raise PrintError(NO_BROWSER)  # before the book is built for nothing
        site = options.site or site_of(root, names, every=not options.chapters)
        print_chapters(site.resolve(), names, options.out, slides=options.slides)
    except PrintError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
