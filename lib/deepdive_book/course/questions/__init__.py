"""Multiple-choice questions of a chapter: read, checked, put in order; exported elsewhere.

`chapters/NN_name/questions.yaml` is the bank; `concept_before.yaml` and `concept_after.yaml` are
two forms of one test, item for item on the same concept. An item of each file:

    - id: scale-of-scores        # unique
      concept: scale             # in the concept tests; the pair has the same
      page: 02_attention         # where to read, and under which heading
      section: Why the square root?
      skill: predict             # one of SKILLS
      difficulty: easy           # one of LEVELS
      stem: Text with $x^2$, `code`, a table of Markdown or a block of code.
      right: the right answer
      why: why it is right
      wrong:                     # three, each a mistake that is made
        - {text: an answer, why: what mistake leads here}
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepdive_book.site.pages import PageError

FILES = {"bank": "questions.yaml", "before": "concept_before.yaml", "after": "concept_after.yaml"}
SKILLS = ("predict", "compute", "explain", "compare", "diagnose", "read")
LEVELS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class Option:
    """One answer, and what to say to who gives it."""

    text: str
    why: str
    right: bool


@dataclass(frozen=True)
class Item:
    """One question; `options` stand in the order in which they are shown."""

    id: str
    page: str
    section: str
    skill: str
    difficulty: str
    stem: str
    options: tuple[Option, ...]
    concept: str = ""

    @property
    def right(self) -> int:
        """Index of the right option."""
        return next(i for i, option in enumerate(self.options) if option.right)

    @property
    def where(self) -> str:
        """Where to read: `02_attention, Why the square root?`."""
        return f"{self.page}, {self.section}"


@dataclass(frozen=True)
class Bank:
    """The questions of one file."""

    name: str
    title: str
    items: tuple[Item, ...]


def load(chapter: Path, which: str = "bank") -> Bank:
    """Read the questions of a chapter's folder; `which` is one of FILES.

    Raises:
        PageError: there is no such file, or an item in it is not as it should be.
    """
    path = chapter / FILES[which]
    if not path.is_file():
        raise PageError(f"{chapter.name} has no {FILES[which]}")
    try:
        import yaml
    except ImportError as error:
        raise PageError(f"to read {path.name}: `pip install pyyaml`") from error
    given = yaml.safe_load(path.read_text("utf-8"))
    items = [_item(number, each, path) for number, each in enumerate(given["items"], start=1)]
    if twice := {item.id for item in items if [each.id for each in items].count(item.id) > 1}:
        raise PageError(f"{path.name}: {', '.join(sorted(twice))} comes twice")
    return Bank(f"{chapter.name}_{which}", given["title"], _in_order(items))


def _item(number: int, given: dict[str, Any], path: Path) -> Item:
    where = f"{path.name}, item {number} ({given.get('id', 'no id')})"
    needed = ("id", "page", "section", "skill", "difficulty", "stem", "right", "why", "wrong")
    if missing := [key for key in needed if not given.get(key)]:
        raise PageError(f"{where} lacks {', '.join(missing)}")
    if given["skill"] not in SKILLS or given["difficulty"] not in LEVELS:
        raise PageError(f"{where}: skill is one of {SKILLS}, difficulty one of {LEVELS}")
    options = [Option(str(given["right"]), given["why"], True)]
    options += [Option(str(each["text"]), each["why"], False) for each in given["wrong"]]
    if len({option.text for option in options}) != 4:
        raise PageError(f"{where} needs four different options")
    page = path.with_name(f"{given['page']}.py")
    headings = re.findall(r"^# #+ (.+)$", page.read_text("utf-8"), re.M) if page.is_file() else []
    if given["section"] not in headings:
        raise PageError(f"{where}: {page.name} has no heading {given['section']!r}")
    texts = {key: given[key] for key in ("id", "page", "section", "skill", "difficulty")}
    return Item(
        **texts,
        stem=given["stem"].strip(),
        options=tuple(options),
        concept=given.get("concept", ""),
    )


def _in_order(items: list[Item]) -> tuple[Item, ...]:
    """Shuffle the options, always alike; the right one stands equally often in each place."""
    ranked = sorted(range(len(items)), key=lambda i: _digest(items[i].id))
    place = {i: rank % 4 for rank, i in enumerate(ranked)}
    done = []
    for i, item in enumerate(items):
        right, *wrong = item.options
        wrong.sort(key=lambda option: _digest(item.id + option.text))
        wrong.insert(place[i], right)
        done.append(Item(**{**item.__dict__, "options": tuple(wrong)}))
    return tuple(done)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
