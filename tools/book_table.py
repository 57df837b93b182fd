"""Write the README's table of the book: every chapter, its question, its pages with links."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lib"))

from deepdive.house.pages import Page, discover, number_of  # noqa: E402

README = ROOT / "README.md"
BEGIN = "<!-- book:begin -->"
END = "<!-- book:end -->"


def chapter(pages: list[Page]) -> list[str]:
    """The cells of one chapter: its first page asks its question. Studies ask one each."""
    first = pages[0]
    if first.is_study:
        return ["Case studies", "Whole projects on real data", links(pages)]
    name = f"{number_of(first.source.parent.name)} {first.chapter}"
    rest = pages[1:] if first.source.stem.startswith("00_") else pages
    return [f"[{name}]({first.name}.ipynb)", first.summary().question, links(rest)]


def links(pages: list[Page]) -> str:
    return " · ".join(f"[{page.summary().title}]({page.name}.ipynb)" for page in pages)


def table(root: Path) -> str:
    """The table as Markdown, a line a chapter."""
    rows = [["chapter", "question", "pages"], ["---"] * 3]
    folders = groupby(discover(root), lambda page: page.source.parent)
    rows += [chapter(list(pages)) for _, pages in folders]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def replaced(text: str, content: str) -> str:
    """Return the text with what stands between the two markers replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the markers {BEGIN} and {END}")
    return f"{before}{begin}\n{content}\n{end}{after}"


def main() -> None:
    README.write_text(replaced(README.read_text("utf-8"), table(ROOT)), encoding="utf-8")
    print("README.md: the table of the book is written")


if __name__ == "__main__":
    main()
