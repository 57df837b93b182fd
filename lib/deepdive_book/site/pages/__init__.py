"""The pages of the companion: where they are, how one is named, and how much time it may take.

A page is a `.py` in percent format beside the `.ipynb` that is built from it (`source`,
`execute`). Nothing here imports Jupyter; the modules that need it are imported when used.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Seconds that a page may take on two cores: (chapter page, case study).
BUDGETS = {"ci": (60, 120), "laptop": (90, 900), "gpu": (90, 3600), "experiment": (3600, 3600)}

CHAPTERS = "chapters/[0-9][0-9]*_*"  # folders below the root: `03_bert`, in parts `06b_vision`
ACRONYMS = {"bert": "BERT"}


def title_line(title: str) -> str:
    """Return the first line of a fold's code in a notebook; Colab reads it as the fold's title.

    The source has the title in the line that begins the cell, and not in its code.
    """
    return f"# @title {title}\n"


def number_of(name: str) -> str:
    """Return the number that a folder or file begins with, as it is said: `6b` of `06b_vision`."""
    return name.split("_")[0].lstrip("0") or "0"


def titled(folder: str) -> str:
    """Return the name of a folder of pages, to be read: `03_bert` is `BERT`."""
    words = re.sub(r"^\d+[a-z]?_", "", folder).split("_")
    named = " ".join(ACRONYMS.get(word, word) for word in words)
    return named[:1].upper() + named[1:]


@dataclass(frozen=True)
class Summary:
    """What the first cell of a page says: its title, its question, and the minutes to read it."""

    title: str
    question: str
    minutes: int


@dataclass(frozen=True)
class Page:
    """One page: its source, and the root of the checkout that holds it."""

    source: Path
    root: Path

    @property
    def name(self) -> str:
        """Path below the root without suffix: `chapters/02_transformer/02_attention`."""
        return self.source.relative_to(self.root).with_suffix("").as_posix()

    @property
    def is_study(self) -> bool:
        return self.source.parent.name == "casestudies"

    @property
    def chapter(self) -> str:
        """The name of the folder it is in, to be read: `Before`, `BERT`."""
        return titled(self.source.parent.name)

    @property
    def number(self) -> str:
        """`2.2` for a chapter's page (`5.4b` between two, `6b.1` in a part), or `case 2`."""
        own, chapter = number_of(self.source.name), number_of(self.source.parent.name)
        return f"case {own}" if self.is_study else f"{chapter}.{own}"

    @property
    def answers_to(self) -> set[str]:
        """The names that mean this page and no part of a name: number, stem, path."""
        stem = self.source.stem
        return {self.number, self.number.replace(" ", ""), self.name, stem, stem.partition("_")[2]}

    @property
    def notebook(self) -> Path:
        """The committed notebook beside the source."""
        return self.source.with_suffix(".ipynb")

    def summary(self) -> Summary:
        """Read the first cell: the heading, the first paragraph under it, "20 min" anywhere."""
        cell = re.search(
            r"^# %% \[markdown\].*\n((?:#.*\n)*)", self.source.read_text("utf-8"), re.M
        )
        text = re.sub(r"^# ?|[*`]", "", cell[1] if cell else "", flags=re.MULTILINE)
        title = re.search(r"^# +(.+)", text, re.M)
        below = [part.strip(" _>\n") for part in text[title.end() if title else 0 :].split("\n\n")]
        minutes = re.search(r"(\d+) min\b", text)
        return Summary(
            title[1].strip() if title else self.source.stem,
            " ".join(next((part for part in below if part), "").split()),
            int(minutes[1]) if minutes else 0,
        )

    def budget(self, profile: str) -> int:
        """Seconds that the page may take in this profile."""
        return BUDGETS[profile][self.is_study]


class PageError(ValueError):
    """A page or checkout that cannot be found, or that is not as it should be."""


def find_root(start: Path | None = None) -> Path:
    """The checkout around `start` (default: here), or else the one this library stands in.

    Raises:
        PageError: neither is in a checkout.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents, Path(__file__).resolve().parents[4]):
        if (folder / "chapters").is_dir() or (folder / "casestudies").is_dir():
            return folder
    raise PageError(f"no chapters/ or casestudies/ in or above {here}: run this in a checkout")


def discover(root: Path) -> list[Page]:
    """All pages in the book's order, chapters first; exercises are not pages."""
    found = sorted(root.glob(f"{CHAPTERS}/[0-9][0-9]*_*.py"))
    found += sorted(root.glob("casestudies/[0-9][0-9]*_*.py"))
    return [Page(path, root) for path in found]


def exercise_sources(root: Path) -> list[Path]:
    """The sources of the exercises and bug clinics of all chapters, in order."""
    every = root.glob(f"{CHAPTERS}/*.py")
    return sorted(path for path in every if path.stem in ("clinic", "exercises"))


def find(query: str, root: Path) -> Page:
    """The page with this number (`2.2`, `case 2`), name, path, or unique part of a name.

    Any other notebook or source can be named by its path (a solved exercise in `build/`).

    Raises:
        PageError: no page answers to `query`, or several do; the message names near ones.
    """
    pages = discover(root)
    wanted = query.lower().removesuffix(".ipynb").removesuffix(".py")
    exact = [page for page in pages if wanted in page.answers_to]
    path = Path(query).resolve()
    if not exact and path.suffix in (".py", ".ipynb") and path.is_file():
        other = Page(path, root if path.is_relative_to(root) else path.parent)
        return next((page for page in pages if page.source == path.with_suffix(".py")), other)
    hits = exact or [page for page in pages if wanted in page.name.lower()]
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(page.name for page in hits)
        raise PageError(f"{query!r} fits {len(hits)} pages: {names}. Give more of the name.")
    known = {name: page.name for page in pages for name in page.answers_to}
    close = difflib.get_close_matches(wanted, known, n=5, cutoff=0.6)
    near = dict.fromkeys(known[name] for name in close)
    hint = f"Near it: {', '.join(near)}." if near else "`deepdive list` shows all pages."
    raise PageError(f"no page {query!r}. {hint}")


def select(queries: Sequence[str], root: Path) -> list[Page]:
    """The named pages in the order given, or all of them."""
    return [find(query, root) for query in queries] or discover(root)
