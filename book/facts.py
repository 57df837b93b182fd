"""The fact lock: what a rewrite of a page's prose must not change without saying so.

    python book/facts.py 6b.6            # what differs from the lock; exit status 1 if so
    python book/facts.py --lock 6b.6     # lock what the page says now, after its numbers are frozen

A lock, `book/facts/PAGE.yaml`, has the numbers, citations, links, and formulas of a page, of its
*More experiments* page, and of its chapter's exercises that link to it, and how many hedges they
have. 0.77, 77%, and "77 per cent" are one number. A fact that was removed or added on purpose is
listed under `changes` with its reason; a test compares every lock with its page.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from deepdive_book.site.pages import Page, discover, select  # noqa: E402

LOCKS = ROOT / "book" / "facts"
HEDGES = (
    r"about|almost|approximately|apparently|at least|at most|can(?:'|no)t tell|could|in our runs?|"
    r"inconclusive|likely|may|might|nearly|not tested|one run|one seed|only|perhaps|probably|"
    r"roughly|seems?|suggests?|usually|we did not|we didn't"
)
NUMBER = re.compile(
    r"(?<![\w.])[-\u2212]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"(\s?%|\s+per ?cent|\s+points?)?"
)
CITATION = re.compile(  # Vaswani et al. 2017; Lin and Chen (2013)
    r"([A-Z][\w\u00c0-\u017f-]+)(?: et al\.| and [A-Z][\w-]+|, [^()\d]{0,80}?)?"
    r",? \(?((?:19|20)\d\d)"
)
LINK = re.compile(r"\]\((https?://[^)\s]+)\)")
MATH = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+(?:\n[^$\n]+)?)\$", re.S)
KINDS = ("numbers", "citations", "links", "formulas")


def texts(page: Page) -> Iterator[str]:
    """Yield the Markdown that a lock covers."""
    stem = page.source.stem
    siblings = (p for p in discover(page.root) if p.source.parent == page.source.parent)
    more = [p for p in siblings if p.source.stem.endswith(f"_{_topic(stem)}_more")]
    for each in (page, *more):
        yield from _markdown(each.notebook)
    exercises = page.source.with_name("exercises.ipynb")
    if exercises.is_file():
        yield from (text for text in _markdown(exercises) if f"({stem}.ipynb" in text)


def _topic(stem: str) -> str:
    return stem.partition("_")[2]


def _markdown(notebook: Path) -> Iterator[str]:
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield cell.source


def facts(page: Page) -> dict[str, list[str] | int]:
    """Return the facts of a page, each kind sorted, and the number of its hedges."""
    return facts_of("\n\n".join(texts(page)))


def facts_of(text: str) -> dict[str, list[str] | int]:
    text = re.sub(r"```.*?```|<!--.*?-->|<small>.*?</small>", " ", text, flags=re.S)
    formulas = {" ".join((m[1] or m[2]).split()) for m in MATH.finditer(text)}
    links = set(LINK.findall(text))
    words = MATH.sub(" ", re.sub(r"\]\([^)]*\)", "] ", text))
    words = re.sub(r"`[^`]*`", " ", words)
    citations = {f"{m[1]} {m[2]}" for m in CITATION.finditer(" ".join(words.split()))}
    years = {year.split()[-1] for year in citations}
    numbers = {_number(m[1], m[2] or "") for m in NUMBER.finditer(words)} - years
    found: dict[str, list[str] | int] = {
        "numbers": sorted(numbers, key=float), "citations": sorted(citations),
        "links": sorted(links), "formulas": sorted(formulas),
    }  # fmt: skip
    return {**found, "hedges": len(re.findall(rf"(?<!\w)(?:{HEDGES})(?!\w)", words, re.I))}


def _number(digits: str, unit: str) -> str:
    """Write a number in one way: 77% and 0.77 are the same, 1,200 is 1200."""
    value = float(digits.replace(",", ""))
    return f"{value / 100 if unit else value:.12g}"


def lock_of(page: Page) -> Path:
    return LOCKS / f"{page.name.removeprefix('chapters/').replace('/', '-')}.yaml"


def differences(page: Page) -> list[str]:
    """Return what a page and its lock don't have in common and the lock doesn't list."""
    lock, now = yaml.safe_load(lock_of(page).read_text("utf-8")), facts(page)
    listed = lock.get("changes") or []
    gone, come = ({str(c.get(side)) for c in listed} for side in ("removed", "added"))
    found = []
    for kind in KINDS:
        was, has = ({str(fact) for fact in facts[kind]} for facts in (lock, now))
        found += [f"{kind}: {fact} is gone" for fact in sorted(was - has - gone)]
        found += [f"{kind}: {fact} is new" for fact in sorted(has - was - come)]
    if now["hedges"] < lock["hedges"] - sum(c.get("hedges", 0) for c in listed):
        found.append(f"hedges: {now['hedges']}, in the lock {lock['hedges']}")
    return found


def main(argv: list[str] | None = None) -> None:
    """Compare pages with their fact locks, or lock them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("pages", nargs="+", metavar="PAGE", help="such as 6b.6")
    parser.add_argument("--lock", action="store_true", help="lock what the pages say now")
    args = parser.parse_args(argv)
    found = 0
    for page in select(args.pages, ROOT):
        if args.lock:
            LOCKS.mkdir(exist_ok=True)
            text = yaml.safe_dump(
                {**facts(page), "changes": []}, sort_keys=False, allow_unicode=True
            )
            lock_of(page).write_text(text, "utf-8")
            print(f"locked: {lock_of(page).relative_to(ROOT)}")
        elif not lock_of(page).is_file():
            print(f"{page.number} has no lock: run `python book/facts.py --lock {page.number}`")
        else:
            for finding in differences(page):
                found += 1
                print(f"{page.number} {finding}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
