"""The headings of the printed sources, and which rows of the concordance they need.

    python tools/concordance.py --sources ../shared/sources     # what is absent, what is too many
    python tools/concordance.py --built                         # mark rows whose page is there now

`book/concordance.csv` leads from each heading to our page. The sources are text that was read from
the printed book, three decks and a blog; of the decks it keeps neither slide numbers nor every
title, so a slide is named by its place among the headings that were kept.
"""

import argparse
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "book" / "concordance.csv"
COLUMNS = ("source", "section", "title", "printed_page", "page", "anchor", "exercise", "status")
STATUSES = ("built", "planned", "printed only")
DECKS = ("fleuret", "kaist", "straka")
SOURCES = ("book", *DECKS, "blog")

# Lines of a deck's text that head nothing: authors, words inside pictures, examples.
NOISE = re.compile(
    r"François|UNIVERSITÉ|DE GENÈVE|Milan|EUROPEAN|European|Operational|Charles|Faculty|Institute"
    r"|April|unless|Figure 1: E|Figure G|Fig\.|http|Link|prints$|Thinking|Machines|W\^O|Model$"
    r"|Head \d|Summary|References|The End|Deep learning$|Completion|Pre-training|OpenAI/Github"
    r"|Studying|If |Input:|Model Output|Explanation|Answer|I will|During what|What are|Während"
    r"|Trong|1 exa|MNLI|RTE|The name|Der Name|Tên|The campus|El campus|CoNLL|SQuAD|SST"
    r"|Results are|[^A-Z0-9]|\d+\) "
)
CAPTION = re.compile(r"((?:Table|Figure) \d+ of .[^\"”]+.),")


class Heading(NamedTuple):
    """One heading of a source; `page` is empty where the text has none."""

    source: str
    section: str
    title: str
    page: str


def plain(line: str) -> str:
    """A line without tags and emphasis, blanks as single spaces."""
    return " ".join(re.sub(r"<[^>]+>|\*", "", line).split())


def book(text: str) -> list[Heading]:
    """The table of contents: numbers, titles and printed pages, front matter and end included."""
    contents = text.split("\n# Contents\n", 1)[1].split("\n# Foreword\n", 1)[0]
    found = []
    for line in map(plain, contents.splitlines()):
        whole = re.fullmatch(r"(?:CHAPTER )?((?:\d+\.)*\d+ )?(?:[■▪] )?(.+) (\d+|[xvi]+)", line)
        if whole:
            found.append(Heading("book", (whole[1] or "").strip(), whole[2], whole[3]))
    return found


def deck(source: str, text: str) -> list[Heading]:
    """The headings of a deck, each once, numbered in the order of appearance."""
    lines = text.partition("\nReferences\n")[0].splitlines()
    titles = list(kaist_titles(lines) if source == "kaist" else deck_titles(lines))
    return [Heading(source, str(n), t, "") for n, t in enumerate(dict.fromkeys(titles), start=1)]


def kaist_titles(lines: list[str]) -> Iterator[str]:
    """Lines with a list below them; and bullets that begin with a bold name, under their title."""
    title = next(filter(None, map(plain, lines)))
    yield title
    for i, line in enumerate(lines):
        later = next((rest for rest in lines[i + 1 :] if rest.strip()), "")
        bullet = re.match(r"[-•] (?:\*\*)?([A-Z][^$*|:]+)\*\*(?=:| \[|$)|• ([A-Z]\w+)$", line)
        above = re.match(r"[-•] |1\. ", later) and re.match(r"[A-Z0-9][^$|\t]{3,110}[^.;?]$", line)
        if bullet and not re.match(r"Remark|Next|Summ|Motiv|Key idea|Self-.+ is", bullet[1] or ""):
            name = bullet[1] or bullet[2]
            if name not in title and not name.startswith(title.split()[0]):
                yield f"{title}: {name}" if name.isalpha() else name
        elif above and not re.match(r"\d\) |E\.g|Link", line):
            title = plain(re.sub(r"^\d\. ", "", line))
            yield title


def deck_titles(lines: list[str]) -> Iterator[str]:
    """Short lines that stand alone, captions of figures, and first words of untitled slides."""
    for before, line, after in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if title := deck_title(line.strip(), not before.strip() and not after.strip()):
            yield title


def deck_title(line: str, alone: bool) -> str:
    """The heading that a line is, or nothing."""
    if caption := CAPTION.match(line):
        return caption[1].replace("“", '"').replace("”", '"')
    if NOISE.match(line) or not alone or re.search(r"[|\t\\]|https?:", line[:60]):
        return ""
    if len(line) <= 80 and not re.search(r"[.,;:?$]", line[-1:]):
        return plain(line) if len(line) > 5 else ""
    words = plain(line).split()
    return " ".join(words[:7]) + " …" if len(words) > 7 and "$" not in " ".join(words[:7]) else ""


def blog(text: str) -> list[Heading]:
    """Dates and models."""
    found = re.findall(r"^(##+) (.+)$", text, re.MULTILINE)
    return [Heading("blog", str(n), plain(t), "") for n, (_, t) in enumerate(found, start=1)]


def headings(folder: Path) -> list[Heading]:
    """Every heading of the five sources, in the order of the table."""
    texts = {name: (folder / f"{name}.txt").read_text("utf-8") for name in SOURCES}
    rows = book(texts["book"])
    for name in DECKS:
        rows += deck(name, texts[name])
    return rows + blog(texts["blog"])


def table(path: Path = TABLE) -> list[dict[str, str]]:
    """The rows of the concordance."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(rows: list[dict[str, str]], path: Path = TABLE) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def is_there(page: str) -> bool:
    """Whether a page is written: a notebook of the checkout, or a text of the book."""
    return (ROOT / f"{page}.ipynb").is_file() or (ROOT / "book" / f"{page}.md").is_file()


def differences(folder: Path) -> list[str]:
    """Headings without a row, and rows without a heading."""
    needed = headings(folder)
    have = [Heading(r["source"], r["section"], r["title"], r["printed_page"]) for r in table()]
    absent = [f"absent: {', '.join(h)}" for h in needed if h not in have]
    return absent + [f"in no source: {', '.join(h)}" for h in have if h not in needed]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, default=ROOT.parent / "shared" / "sources")
    parser.add_argument("--built", action="store_true", help="mark rows whose page is there now")
    options = parser.parse_args()
    if options.built:
        rows = table()
        for row in rows:
            if row["status"] == "planned" and row["page"] and is_there(row["page"]):
                row["status"] = "built"
                print(f"built: {row['source']} {row['section']} {row['title']} -> {row['page']}")
        write(rows)
        return 0
    told = differences(options.sources)
    print("\n".join(told) or "every heading has its row")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
