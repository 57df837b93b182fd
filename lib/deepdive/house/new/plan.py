"""What is asked for, and what the checkout says of it: systems, headers, examples, papers."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deepdive.house.atlas.headers import Header, headers
from deepdive.house.atlas.rows import SYSTEMS, read_csv
from deepdive.house.new import reading
from deepdive.house.new.reading import Module

MARK = "TODO" + ":"  # in two parts, for the test that finds it
EXAMPLES = "lib/deepdive/house/atlas/examples.py"
TABLE = "lib/deepdive/house/atlas/systems.csv"


class NewError(ValueError):
    """A system that cannot be begun; the message says why, and what to give instead."""


@dataclass(frozen=True)
class Plan:
    """What is asked for, and what the checkout says of it.

    row        the system's line in the table, as it will stand
    override   `Class.method` that the new class overrides, or "" where only numbers differ
    page       the page to write, without suffix, or "" for none
    paper      author, year and title of its paper, or a mark
    """

    root: Path
    row: Mapping[str, str]
    parent: Header
    folder: str
    override: str
    page: str
    paper: tuple[str, str]

    @property
    def package(self) -> Path:
        return self.root / "lib" / "deepdive"

    @property
    def system(self) -> str:
        return self.row["id"]

    @property
    def module(self) -> str:
        return f"deepdive.{self.folder.replace('/', '.')}.{self.system}"

    @property
    def source(self) -> Module:
        """The parent's module."""
        return reading.read(self.package, self.parent.module)

    @property
    def base(self) -> str:
        """The class that the new one extends, or "" where there is none."""
        return self.override.partition(".")[0]

    @property
    def part(self) -> str:
        """The new class: the system's name, and the last word of its base's."""
        if not self.base:
            return ""
        last = re.findall(r"[A-Z]+[a-z]*", self.base)[-1]
        named = "".join(word.capitalize() for word in self.system.split("_"))
        return named if named.endswith(last) else named + last

    @property
    def has_builder(self) -> bool:
        return not self.parent.part and self.source.builder is not None

    @property
    def sizes(self) -> list[str]:
        """What the parent's example names of its module: the builder, and sizes to be written."""
        named = re.findall(
            rf"\b{self.source.stem}\.(\w+)", example_of(self.root, self.parent.system)
        )
        return [n for n in named if not isinstance(self.source.definition(n), ast.ClassDef)]

    @property
    def example(self) -> str:
        """The parent's example with the new names."""
        text = example_of(self.root, self.parent.system)
        if self.has_builder:
            for name in self.sizes:
                text = text.replace(f"{self.source.stem}.{name}", f"{self.system}.{name}")
            text = text.replace(f".{self.source.stem}(", f".{self.system}(")
        elif self.base:
            text = re.sub(rf"\b{self.base}\b", self.part, text)
        return text


def example_of(root: Path, system: str) -> str:
    """Return the text of a system's entry in EXAMPLES. Raises NewError where it has none."""
    text = (root / EXAMPLES).read_text("utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == system:
                    return ast.get_source_segment(text, value) or ""
    raise NewError(f"{system} has no example in {EXAMPLES}: choose a parent that has one")


def listed(root: Path) -> dict[str, dict[str, str]]:
    """Return the table of systems of a checkout, by id."""
    return {row["id"]: row for row in read_csv(root / TABLE)}


def built(root: Path) -> dict[str, Header]:
    """Return the headers of a checkout."""
    return headers(root / SYSTEMS.parents[2].relative_to(SYSTEMS.parents[4]), root)


def paper_of(root: Path, system: str) -> tuple[str, str]:
    """Return (authors and year, title) of the oldest paper of a system, or a mark and nothing."""
    text = (root / "book" / "references.bib").read_text("utf-8")
    found = []
    for line in text.splitlines():
        told = dict(re.findall(r"(\w+) = \{(.*?)\}(?=, \w+ = |\}$)", line))
        if system in told.get("systems", "").split(", "):
            found.append(told)
    if not found:
        return f"{MARK} authors and year", ""
    first = min(found, key=lambda told: told["year"])
    names = [plain(name.split(",")[0]) for name in first["author"].split(" and ")]
    more = " et al." if len(names) > 2 else f" and {names[1]}" if len(names) == 2 else ""
    return f"{names[0]}{more} {first['year']}", plain(first["title"])


def plain(text: str) -> str:
    """Return a field of the bibliography without its braces and accents' commands."""
    return re.sub(r"\\[^a-zA-Z]|[{}\\]", "", text)
